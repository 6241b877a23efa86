"""A constant guess is measured as a model is."""

import math
from dataclasses import replace

import pytest
import torch

from idbpd.mtl import (
    CrossEntropy,
    Logistic,
    Meaning,
    MultiTaskData,
    Penalty,
    Squared,
    Task,
    guess_loss,
    measure_constant,
    same_for_all,
)
from idbpd.mtl.criterion import Criterion
from idbpd.mtl.losses import Loss


def _data(meaning: Meaning, targets: list[list[float]]) -> MultiTaskData:
    labels = tuple(f"output{at}" for at in range(len(targets[0])))
    rows = torch.arange(len(targets))
    return MultiTaskData(torch.zeros(len(rows), 1), (Task("only", labels, rows, torch.tensor(targets), meaning),))


def test_yes_or_no_is_guessed_by_how_often_it_is_yes() -> None:
    train = _data(Meaning("binary"), [[1.0], [0.0], [0.0], [0.0]])
    test = _data(Meaning("binary"), [[1.0], [0.0]])
    criteria = same_for_all(Logistic(), Penalty(0.1))
    measured = measure_constant(train, {"train": train, "test": test}, criteria)
    seen, unseen = measured["train"]["only"], measured["test"]["only"]
    assert (seen.metrics["accuracy"], unseen.metrics["accuracy"]) == (0.75, 0.5)
    assert unseen.metrics["roc_auc"] == 0.5
    assert unseen.metrics["log_loss"] == pytest.approx(-(math.log(0.25) + math.log(0.75)) / 2)
    assert unseen.mean_loss == pytest.approx(unseen.metrics["log_loss"])
    # The worst case is that of the constant with the least worst case, which is nearer to a coin toss.
    assert seen.worst_case_loss == pytest.approx(guess_loss(train.priority, criteria))
    by_frequency = criteria(train.priority).worst(-torch.tensor([0.25, 0.75, 0.75, 0.75]).log()).value
    assert seen.worst_case_loss < by_frequency - 0.1


def test_a_number_is_guessed_by_its_mean() -> None:
    train = _data(Meaning("number", center=5.0, scale=2.0), [[-1.0], [1.0]])
    criteria = same_for_all(Squared(), Penalty(1.0))
    (quality,) = measure_constant(train, {"train": train}, criteria)["train"].values()
    assert quality.metrics == {"mae": 2.0, "rmse": 2.0, "r2": 0.0}


def test_every_task_has_a_guess_of_its_own_loss() -> None:
    number = _data(Meaning("number"), [[-1.0], [1.0]]).priority
    classes = replace(_data(Meaning("classes"), [[1.0, 0.0], [0.0, 1.0]]).priority, name="other")
    data = MultiTaskData(torch.zeros(2, 1), (number, classes))
    losses: dict[str, Loss] = {"number": Squared(), "classes": CrossEntropy()}
    measured = measure_constant(data, {"train": data}, lambda task: Criterion(losses[task.meaning.kind], Penalty(0.1)))[
        "train"
    ]
    assert measured["only"].mean_loss == pytest.approx(1.0)
    assert measured["other"].mean_loss == pytest.approx(math.log(2))
