"""A measure is the mean of its errors, and a limit in it is a limit of that mean."""

import pytest
import torch
from torch.nn.functional import one_hot

from idbpd.mtl.kinds import KINDS, Kind
from idbpd.mtl.metrics import MEASURES, SAMPLE_ERRORS, Answered


def answered_samples(kind: Kind, unknown: bool = False) -> Answered:
    width = {"binary": 1, "number": 1}.get(kind, 4)
    outputs = torch.randn(50, width, dtype=torch.float64)
    if kind == "number":
        return Answered(outputs, outputs, torch.randn(50, 1, dtype=torch.float64), scale=3.0)
    if kind == "classes":
        truths = one_hot(torch.randint(4, (50,)), 4).double()
    else:
        truths = (torch.rand(50, width) < 0.4).double()
    if kind == "distribution":
        truths = truths / truths.sum(dim=1, keepdim=True).clamp(min=1)
    if unknown:
        truths[torch.rand(truths.shape) < 0.2] = torch.nan
        truths[0] = 1.0
    answers = outputs.sigmoid() if kind in ("binary", "labels") else outputs.softmax(dim=1)
    return Answered(outputs, answers, truths)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unknown", [False, True])
def test_every_measure_is_that_of_the_tables(kind: Kind, unknown: bool) -> None:
    answered = answered_samples(kind, unknown and kind == "labels")
    measured = MEASURES[kind](answered)
    for name, measure in SAMPLE_ERRORS[kind].items():
        errors = measure.errors(answered)
        assert measure.measure(errors.mean().item()) == pytest.approx(measured[name], rel=1e-12), name
        assert measure.error(measured[name]) == pytest.approx(errors.mean().item(), rel=1e-12), name
        assert not measure.is_rate or set(errors.tolist()) <= {0.0, 1.0}


def test_recall_counts_positive_samples_alone() -> None:
    answers = torch.tensor([[0.9], [0.2], [0.8], [0.1]], dtype=torch.float64)
    truths = torch.tensor([[1.0], [1.0], [0.0], [0.0]], dtype=torch.float64)
    answered = Answered(answers, answers, truths)
    assert SAMPLE_ERRORS["binary"]["recall"].errors(answered).tolist() == [0.0, 1.0]
    assert SAMPLE_ERRORS["binary"]["precision"].errors(answered).tolist() == [0.0, 1.0]
    assert SAMPLE_ERRORS["binary"]["specificity"].errors(answered).tolist() == [1.0, 0.0]
