"""The measures of every kind are those of scikit-learn."""

import math

import numpy as np
import pytest
import torch
from sklearn import metrics as known
from torch import Tensor
from torch.nn.functional import one_hot

from idbpd.mtl import HEADLINE, KINDS, CrossEntropy, Huber, Kind, Logistic, Loss, Meaning, Squared, Task, is_better
from idbpd.mtl.metrics import task_metrics
from tests.extensions.brier import Brier

LOSSES: dict[Kind, Loss] = {
    "binary": Logistic(),
    "classes": CrossEntropy(),
    "labels": Logistic(),
    "number": Squared(),
    "distribution": CrossEntropy(),
}


def _metrics(
    kind: Kind, outputs: Tensor, targets: Tensor, loss: Loss | None = None, scale: float = 1.0
) -> dict[str, float]:
    names = tuple(f"output{at}" for at in range(targets.shape[1]))
    task = Task("only", names, torch.arange(len(targets)), targets, Meaning(kind, scale=scale))
    return task_metrics(task, outputs, loss or LOSSES[kind])


def _drawn(kind: Kind, ties: bool = False) -> tuple[Tensor, Tensor]:
    """Outputs and targets of sixty samples; some outputs are very sure and wrong."""
    width = {"binary": 1, "number": 1}.get(kind, 4)
    outputs = 3 * torch.randn(60, width, dtype=torch.float64)
    outputs = outputs.round() if ties else outputs
    outputs[:2] *= 100
    if kind == "number":
        return outputs, torch.randn(60, 1, dtype=torch.float64)
    if kind == "classes":
        return outputs, one_hot(torch.randint(4, (60,)), 4).double()
    targets = (torch.rand(60, width) < 0.4).double()
    if kind == "distribution":
        targets[targets.sum(dim=1) == 0, 0] = 1
        targets /= targets.sum(dim=1, keepdim=True)
    return outputs, targets


def _is(found: dict[str, float], expected: dict[str, float]) -> None:
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("ties", [False, True])
def test_yes_or_no(ties: bool) -> None:
    outputs, targets = _drawn("binary", ties)
    chances, truths = outputs.sigmoid().numpy()[:, 0], targets.numpy()[:, 0]
    expected = {
        "accuracy": known.accuracy_score(truths, chances > 0.5),
        "roc_auc": known.roc_auc_score(truths, chances),
        "average_precision": known.average_precision_score(truths, chances),
        "log_loss": known.log_loss(truths, chances),
        "brier": known.brier_score_loss(truths, chances),
        "recall": known.recall_score(truths, chances > 0.5),
        "precision": known.precision_score(truths, chances > 0.5),
        "specificity": known.recall_score(truths, chances > 0.5, pos_label=0),
    }
    _is(_metrics("binary", outputs, targets), expected)


@pytest.mark.parametrize("ties", [False, True])
def test_classes(ties: bool) -> None:
    outputs, targets = _drawn("classes", ties)
    chances, truths = outputs.softmax(dim=1).numpy(), targets.numpy()
    classes = truths.argmax(axis=1)
    expected = {
        "accuracy": known.accuracy_score(classes, chances.argmax(axis=1)),
        "roc_auc": known.roc_auc_score(classes, chances, multi_class="ovr"),
        "average_precision": known.average_precision_score(truths, chances),
        "log_loss": known.log_loss(classes, chances),
        "brier": known.brier_score_loss(classes, chances, scale_by_half=False),
    }
    _is(_metrics("classes", outputs, targets), expected)


def test_a_class_that_no_sample_has_does_not_count() -> None:
    outputs, targets = _drawn("classes")
    there = targets[:, 2] == 0
    outputs, targets = outputs[there], targets[there]
    found, present = _metrics("classes", outputs, targets), [0, 1, 3]
    chances, truths = outputs.softmax(dim=1).numpy()[:, present], targets.numpy()[:, present]
    assert found["roc_auc"] == pytest.approx(known.roc_auc_score(truths, chances), rel=1e-9)
    assert found["average_precision"] == pytest.approx(known.average_precision_score(truths, chances), rel=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_labels_are_measured_where_they_are_known(missing: float) -> None:
    outputs, targets = _drawn("labels")
    targets[torch.rand(60, 4) < missing] = math.nan
    chances, truths = outputs.sigmoid().numpy(), targets.numpy()
    there = ~np.isnan(truths)
    columns = [(truths[there[:, at], at], chances[there[:, at], at]) for at in range(4)]
    asked, answered = truths[there], chances[there]
    right = (chances > 0.5) == (truths > 0)
    expected = {
        "accuracy": known.accuracy_score(asked, answered > 0.5),
        "roc_auc": np.mean([known.roc_auc_score(*column) for column in columns]),
        "average_precision": np.mean([known.average_precision_score(*column) for column in columns]),
        "log_loss": known.log_loss(asked, answered),
        "brier": known.brier_score_loss(asked, answered),
        "exact_match": np.mean([right[row][there[row]].all() for row in range(60)]),
    }
    _is(_metrics("labels", outputs, targets), expected)
    assert 0 < expected["exact_match"] < 1


def test_a_label_that_is_never_known_or_always_true_is_left_out_of_the_ranking() -> None:
    outputs, targets = _drawn("labels")
    targets[:, 0], targets[:, 1] = math.nan, 1.0
    found, alone = _metrics("labels", outputs, targets), _metrics("labels", outputs[:, 2:], targets[:, 2:])
    for name in ("roc_auc", "average_precision"):
        assert found[name] == pytest.approx(alone[name], rel=1e-12)


@pytest.mark.parametrize("loss", [Squared(), Huber()])
def test_a_number_is_measured_in_its_own_unit(loss: Loss) -> None:
    outputs, targets = _drawn("number")
    said, truths = 10 + 4 * outputs.numpy(), 10 + 4 * targets.numpy()
    expected = {
        "mae": known.mean_absolute_error(truths, said),
        "rmse": known.root_mean_squared_error(truths, said),
        "r2": known.r2_score(truths, said),
    }
    _is(_metrics("number", outputs, targets, loss, scale=4.0), expected)


def test_a_distribution_is_measured_by_its_labels_and_its_shares() -> None:
    outputs, targets = _drawn("distribution")
    chances, shares = outputs.softmax(dim=1).numpy(), targets.numpy()
    relevant = shares > 0
    expected = {
        "hit_rate": relevant[np.arange(60), chances.argmax(axis=1)].mean(),
        "ranking_precision": known.label_ranking_average_precision_score(relevant, outputs.numpy()),
        "roc_auc": known.roc_auc_score(relevant, chances),
        "average_precision": known.average_precision_score(relevant, chances),
        "log_loss": -(shares * np.log(chances.clip(2**-52))).sum(axis=1).mean(),
        "brier": ((chances - shares) ** 2).sum(axis=1).mean(),
    }
    _is(_metrics("distribution", outputs, targets), expected)


def test_another_loss_changes_no_measure() -> None:
    outputs, targets = _drawn("classes")
    assert _metrics("classes", outputs, targets, Brier()) == _metrics("classes", outputs, targets)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_defined_is_not_a_number(kind: Kind) -> None:
    outputs, targets = _drawn(kind)
    targets[:] = targets[0]  # one value only
    found = _metrics(kind, outputs, targets)
    undefined = {"r2"} if kind == "number" else {"roc_auc", "average_precision"}
    if kind == "binary":
        undefined.add("specificity" if targets[0, 0] > 0 else "recall")
    assert {name for name, value in found.items() if math.isnan(value)} == undefined
    assert set(HEADLINE[kind]) < set(found)


def test_probabilities_in_single_precision_are_judged_as_scikit_learn_judges_them() -> None:
    outputs = torch.tensor([[200.0], [-200.0], [1.0]])
    found = _metrics("binary", outputs, torch.tensor([[0.0], [0.0], [1.0]]))
    expected = known.log_loss([0, 0, 1], outputs.sigmoid().numpy()[:, 0])
    assert found["log_loss"] == pytest.approx(expected, rel=1e-6)
    assert math.isfinite(expected)


def test_nothing_is_better_than_what_is_not_defined() -> None:
    assert is_better("roc_auc", 0.9, 0.8)
    assert is_better("rmse", 0.8, 0.9)
    assert not is_better("roc_auc", 0.9, math.nan)
    assert not is_better("brier", math.nan, 0.9)
