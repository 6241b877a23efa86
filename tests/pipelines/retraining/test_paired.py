"""The test that says whether one model is worse than another on the same samples."""

import pytest
import torch

from idbpd.mtl import Criterion, CrossEntropy, WorstCase
from idbpd.mtl.worst_cases import Mean, Share
from idbpd.pipelines.retraining.paired import compare, exceeds_by

WORST_CASES = [Mean(), Share(0.8)]


def _losses(n: int = 400) -> torch.Tensor:
    return torch.empty(n, dtype=torch.float64).exponential_(generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("worst_case", WORST_CASES)
def test_what_is_clearly_worse_is_shown_by_less_than_the_measured_difference(worst_case: WorstCase) -> None:
    old = _losses()
    found = compare(1.2 * old, old, Criterion(CrossEntropy(), worst_case))
    assert found.is_shown_worse
    assert not found.is_shown_better
    assert found.worse_by is not None
    assert 0 < found.worse_by < found.new - found.old
    other_way = compare(old, 1.2 * old, Criterion(CrossEntropy(), worst_case))
    assert other_way.is_shown_better
    assert other_way.better_by == pytest.approx(found.worse_by)


def test_a_difference_within_chance_is_not_shown() -> None:
    old, sign = _losses(), 1 - 2 * (torch.arange(400) % 2)
    found = compare(old * (1.001 + 0.3 * sign), old, Criterion(CrossEntropy(), Mean()))
    assert not found.is_shown_worse
    assert not found.is_shown_better
    assert found.rows == 400


def test_a_loss_that_is_not_finite_shows_nothing() -> None:
    old, new = _losses(), _losses()
    new[3] = torch.inf
    found = compare(new, old, Criterion(CrossEntropy(), Mean()))
    assert (found.worse_by, found.better_by) == (None, None)
    assert not found.is_shown_worse


@pytest.mark.parametrize("worst_case", WORST_CASES)
def test_the_slack_is_that_of_the_smaller_one(worst_case: WorstCase) -> None:
    alone, criterion = _losses(), Criterion(CrossEntropy(), worst_case)
    above = exceeds_by(1.3 * alone, alone, criterion, slack=0.1)
    below = exceeds_by(1.05 * alone, alone, criterion, slack=0.1)
    assert above is not None
    assert below is not None
    assert below < 0 < above
    difference = criterion.worst(1.3 * alone).value.item() - 1.1 * criterion.worst(alone).value.item()
    assert above < difference
