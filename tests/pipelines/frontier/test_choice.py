"""Which point of a front is recommended."""

import torch

from idbpd.pipelines.frontier.choice import Candidate, recommended

NOISE = torch.randn(200, dtype=torch.float64)


def _point(loss: float, own_noise: float = 0.0, eligible: bool = True) -> Candidate:
    """What varies in all points alike, and noise of its own."""
    return Candidate(eligible, loss, loss + 0.3 * NOISE + own_noise * torch.randn(200, dtype=torch.float64))


def test_the_tightest_point_that_is_as_good_as_the_best() -> None:
    assert recommended({0.0: _point(0.9), 0.1: _point(0.52, 0.05), 0.2: _point(0.51, 0.05), 0.5: _point(0.5)}) == 0.1


def test_a_gain_that_is_no_chance_is_worth_a_looser_limit() -> None:
    # Large deviations that all points share do not hide it.
    assert recommended({0.0: _point(0.9), 0.1: _point(0.52), 0.5: _point(0.5)}) == 0.5


def test_only_points_whose_limits_hold_and_that_are_certified_count() -> None:
    assert recommended({0.0: _point(0.9), 0.5: _point(0.5, eligible=False)}) == 0.0
    assert recommended({0.0: _point(0.9, eligible=False)}) is None


def test_the_order_of_the_points_does_not_count() -> None:
    assert recommended({0.5: _point(0.5), 0.1: _point(0.5)}) == 0.1
