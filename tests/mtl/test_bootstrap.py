import pytest
import torch

from idbpd.mtl import Penalty, worst_case_upper_bound, worst_weighting


def test_the_bound_is_the_quantile_of_the_worst_cases_of_the_draws() -> None:
    losses = torch.rand(30, dtype=torch.float64) * 3
    draws = torch.randint(30, (7, 30), generator=torch.Generator().manual_seed(5))
    expected = torch.stack([worst_weighting(losses[draw], Penalty(0.1)).value for draw in draws])
    for confidence in (0.0, 0.5, 0.9, 1.0):
        bound = worst_case_upper_bound(losses, Penalty(0.1), confidence=confidence, resamples=7, seed=5)
        assert bound == pytest.approx(expected.quantile(confidence).item(), rel=1e-12)


def test_the_bound_covers_the_worst_case_of_the_distribution_about_as_often_as_it_says() -> None:
    # The worst case of exponential losses, from so many that what is left of chance does not matter.
    true = worst_weighting(torch.empty(400_000, dtype=torch.float64).exponential_(), Penalty(1.0)).value.item()
    trials = torch.empty(200, 150, dtype=torch.float64).exponential_()
    bounds = [worst_case_upper_bound(losses, Penalty(1.0), resamples=200) for losses in trials]
    covered = sum(bound >= true for bound in bounds) / len(bounds)
    # A percentile bootstrap falls somewhat short of 0.95 on 150 samples with a tail.
    assert 0.85 <= covered < 1


def test_the_bound_depends_on_seed_and_confidence_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = torch.rand(40)
    bound = worst_case_upper_bound(losses, Penalty(0.1), resamples=100, seed=3)
    assert bound == worst_case_upper_bound(losses, Penalty(0.1), resamples=100, seed=3)
    assert bound != worst_case_upper_bound(losses, Penalty(0.1), resamples=100, seed=4)
    assert bound > worst_case_upper_bound(losses, Penalty(0.1), resamples=100, seed=3, confidence=0.5)
    monkeypatch.setattr("idbpd.mtl.bootstrap.NUMBERS_AT_A_TIME", 7 * 40)
    assert bound == worst_case_upper_bound(losses, Penalty(0.1), resamples=100, seed=3)


def test_equal_losses_leave_nothing_to_chance() -> None:
    assert worst_case_upper_bound(torch.full((20,), 0.7), Penalty(0.1)) == pytest.approx(0.7)
