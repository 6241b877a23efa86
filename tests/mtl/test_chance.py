"""Differences between models that are more than chance, and those that are not."""

import math

import pytest
import torch

from idbpd.mtl import CrossEntropy, Task
from idbpd.mtl.chance import BLOCKS, WORST_CASE, is_surely_better, spreads
from idbpd.mtl.criterion import Criterion
from idbpd.mtl.kinds import Meaning
from idbpd.mtl.metrics import task_metrics
from idbpd.mtl.worst_cases import Mean

CRITERION = Criterion(CrossEntropy(), Mean())


def _task(size: int) -> Task:
    targets = torch.nn.functional.one_hot(torch.randint(3, (size,)), 3).double()
    return Task("plan", ("a", "b", "c"), torch.arange(size), targets, Meaning("classes"))


def _logits(task: Task, right: float) -> torch.Tensor:
    """The outputs of a model that is right with this probability, whatever the sample."""
    is_right = torch.rand(task.size) < right
    return torch.where(is_right[:, None], task.targets, task.targets.roll(1, dims=1)) * 2


def _is_better(one: float, other: float, size: int = 400) -> bool:
    task = _task(size)
    first, second = _logits(task, one), _logits(task, other)
    values = [task_metrics(task, logits, CRITERION.loss)["accuracy"] for logits in (first, second)]
    found = [spreads(task, logits, CRITERION) for logits in (first, second)]
    return is_surely_better("accuracy", values[0], values[1], found[0], found[1])


def test_equal_models_are_called_better_about_as_often_as_stated() -> None:
    # One-sided at 95 %: 5 % of 100 comparisons are 5, with a standard deviation of 2.2.
    assert 1 <= sum(_is_better(0.8, 0.8, size=100) for _ in range(100)) <= 12


def test_a_clear_difference_is_seen() -> None:
    assert all(_is_better(0.9, 0.7) for _ in range(5))
    assert not any(_is_better(0.7, 0.9) for _ in range(5))


def test_one_test_row_is_chance() -> None:
    task = _task(400)
    same, other = task.targets.clone(), task.targets.clone()
    other[0] = task.targets[0].roll(1)
    found = [spreads(task, logits, CRITERION) for logits in (same, other)]
    assert not is_surely_better("accuracy", 1.0, 1 - 1 / 400, found[0], found[1])


def test_the_mean_of_the_pseudo_values_of_a_mean_is_the_mean() -> None:
    task = _task(400)
    logits = _logits(task, 0.8)
    found = spreads(task, logits, CRITERION)
    assert len(found["accuracy"]) == BLOCKS
    accuracy = task_metrics(task, logits, CRITERION.loss)["accuracy"]
    assert sum(found["accuracy"]) / BLOCKS == pytest.approx(accuracy)
    losses = CRITERION.loss.values(logits, task.targets)
    assert sum(found[WORST_CASE]) / BLOCKS == pytest.approx(losses.mean().item())


def test_of_few_samples_nothing_is_sure() -> None:
    assert spreads(_task(2 * BLOCKS - 1), torch.zeros(2 * BLOCKS - 1, 3), CRITERION) == {}
    assert not is_surely_better("accuracy", 1.0, 0.0, {}, {})
    known = {"accuracy": [math.nan] * BLOCKS}
    assert not is_surely_better("accuracy", 1.0, 0.0, known, {"accuracy": [0.0] * BLOCKS})
