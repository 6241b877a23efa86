import math

import pytest
import torch
from torch import Tensor

from idbpd.errors import DataError
from idbpd.mtl import Penalty, worst_weighting
from idbpd.mtl.bounds import paired_bootstrap, worst_case_bound
from idbpd.mtl.worst_cases import Mean

# The worst case of exponential losses at lambda = 1: E[l - eta]_+ = 1 gives eta = 0, and W = 1/2 + E[l^2] / 2.
TRUE_EXPONENTIAL = 1.5


def exponential(*shape: int) -> Tensor:
    return torch.empty(*shape, dtype=torch.float64).exponential_()


def test_the_value_is_the_worst_case_and_the_bound_is_beyond_it() -> None:
    losses = exponential(150)
    value, bound, carriers = worst_case_bound(losses, Penalty(1.0))
    weights, expected = worst_weighting(losses, Penalty(1.0))
    assert value == expected.item()
    assert carriers == pytest.approx(1 / (weights**2).sum().item())
    assert bound > value


def test_the_bound_covers_the_truth_at_least_as_often_as_it_says() -> None:
    trials = exponential(300, 100)
    covered = sum(worst_case_bound(losses, Penalty(1.0)).bound >= TRUE_EXPONENTIAL for losses in trials) / 300
    # 97 % in benchmarks/coverage.py; four standard errors of 300 trials are 4 %.
    assert 0.93 <= covered < 1


def test_the_paired_bound_covers_the_truth_at_least_as_often_as_it_says() -> None:
    # The mean loss of the one model is 1.1 times that of the other, and the samples are hard for both.
    covered = 0
    for _ in range(100):
        alone = exponential(100)
        ours = alone * (0.8 + 0.6 * torch.rand(100, dtype=torch.float64))
        bounds = paired_bootstrap(ours, alone, Mean(), slack=0.1)
        assert (bounds.difference_bound <= 0) == (bounds.ratio_bound <= 1.1)
        covered += bounds.ratio_bound >= 1.1
    assert 0.9 <= covered / 100 < 1


def test_pairing_shows_what_two_bounds_could_not() -> None:
    alone = exponential(300)
    ours = alone * (0.95 + 0.1 * torch.rand(300, dtype=torch.float64))
    bounds = paired_bootstrap(ours, alone, Penalty(1.0), slack=0.1)
    ours_value, alone_value = (worst_weighting(each, Penalty(1.0)).value.item() for each in (ours, alone))
    assert bounds.difference == pytest.approx(ours_value - 1.1 * alone_value)
    assert bounds.ratio == pytest.approx(ours_value / alone_value)
    assert bounds.ratio < bounds.ratio_bound < 1.05
    assert bounds.difference < bounds.difference_bound < 0
    assert worst_case_bound(ours, Penalty(1.0)).bound > 1.1 * alone_value


def test_a_large_loss_of_the_training_part_is_taken_to_be_next() -> None:
    # One sample in a hundred has a loss of 5, and the test part happens to have none.
    losses, training = 0.2 * exponential(150), 0.2 * exponential(600)
    true = 0.99 * 0.2 + 0.01 * 5
    assert worst_case_bound(losses, Mean()).bound < true
    assert worst_case_bound(losses, Mean(), training=training).bound == pytest.approx(
        worst_case_bound(losses, Mean()).bound, rel=0.1
    )
    training[:6] = 5.0
    assert true < worst_case_bound(losses, Mean(), training=training).bound < 4 * true


def test_only_a_training_sample_that_is_worse_for_the_model_than_for_the_other_widens_the_ratio() -> None:
    alone, training = exponential(150), exponential(600)
    ours = alone * (0.95 + 0.1 * torch.rand(150, dtype=torch.float64))
    hard = training.clone()
    hard[0] = 12.0

    def ratio_bound(pair: tuple[Tensor, Tensor] | None) -> float:
        return paired_bootstrap(ours, alone, Penalty(1.0), training=pair, slack=0.1).ratio_bound

    assert ratio_bound((hard, hard)) == ratio_bound((training, training))
    assert ratio_bound((hard, training)) > ratio_bound((training, training)) >= ratio_bound(None)


def test_a_bound_beyond_all_losses_says_nothing() -> None:
    losses = torch.full((30,), 0.1, dtype=torch.float64)
    losses[:6] = 3.0
    value, bound, carriers = worst_case_bound(losses, Penalty(0.05))
    assert carriers > 5
    assert value == pytest.approx(2.9, abs=0.05)
    assert bound == math.inf


def test_a_model_against_itself_is_exactly_as_good() -> None:
    losses = exponential(80)
    bounds = paired_bootstrap(losses, losses, Penalty(1.0))
    assert (bounds.difference, bounds.ratio) == (0, 1)
    assert bounds.ratio_bound == pytest.approx(1, abs=1e-6)
    assert bounds.difference_bound == pytest.approx(0, abs=1e-9)


def test_bounds_grow_with_confidence_and_shrink_with_slack() -> None:
    ours, alone = exponential(120), exponential(120)
    levels = (0.5, 0.8, 0.95, 0.99)
    singles = [worst_case_bound(ours, Penalty(1.0), confidence=c).bound for c in levels]
    ratios = [paired_bootstrap(ours, alone, Penalty(1.0), confidence=c).ratio_bound for c in levels]
    assert singles == sorted(singles)
    assert ratios == sorted(ratios)
    slacks = [paired_bootstrap(ours, alone, Penalty(1.0), slack=slack).difference_bound for slack in (0.0, 0.1, 0.5)]
    assert slacks == sorted(slacks, reverse=True)


def test_the_seed_decides() -> None:
    losses = exponential(500)
    first, again, other = (worst_case_bound(losses, Penalty(1.0), seed=seed).bound for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert first == pytest.approx(other, rel=0.1)


def test_float32_losses_do() -> None:
    losses = exponential(100)
    assert worst_case_bound(losses.float(), Penalty(1.0)).bound == pytest.approx(
        worst_case_bound(losses, Penalty(1.0)).bound, rel=1e-5
    )


def test_equal_losses_leave_nothing_to_chance() -> None:
    value, bound, carriers = worst_case_bound(torch.full((40,), 0.7), Penalty(0.1))
    assert carriers == pytest.approx(40)
    assert bound == pytest.approx(value, abs=1e-6)


def test_a_worst_case_that_hangs_on_a_few_samples_has_no_bound() -> None:
    losses = torch.full((200,), 0.1, dtype=torch.float64)
    losses[:2] = 8.0
    value, bound, carriers = worst_case_bound(losses, Penalty(0.01))
    assert carriers == pytest.approx(2)
    assert value == pytest.approx(7.5, abs=0.1)
    assert bound == math.inf
    usual = exponential(200)
    assert worst_case_bound(usual, Penalty(1.0)).bound < math.inf
    assert worst_case_bound(usual, Penalty(1.0), least_carriers=199).bound == math.inf
    calm = torch.full((200,), 0.1, dtype=torch.float64)
    for pair in ((losses, calm), (calm, losses)):
        bounds = paired_bootstrap(*pair, Penalty(0.01))
        assert (bounds.difference_bound, bounds.ratio_bound) == (math.inf, math.inf)
        assert bounds.carriers == pytest.approx(2)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_loss_that_is_not_finite_shows_nothing(bad: float) -> None:
    losses, broken = exponential(50), exponential(50)
    broken[3] = bad
    for worst_case in (Penalty(1.0), Mean()):
        assert worst_case_bound(broken, worst_case).bound == math.inf
        for pair in ((losses, broken), (broken, losses)):
            bounds = paired_bootstrap(*pair, worst_case, slack=0.1)
            assert (bounds.difference_bound, bounds.ratio_bound) == (math.inf, math.inf)


def test_a_ratio_to_nothing_is_unbounded() -> None:
    bounds = paired_bootstrap(exponential(50), torch.zeros(50), Penalty(1.0))
    assert (bounds.ratio, bounds.ratio_bound) == (math.inf, math.inf)
    assert bounds.difference_bound < math.inf


def test_losses_of_other_samples_are_refused() -> None:
    with pytest.raises(DataError, match="both models need losses of the same samples, got 30 and 20"):
        paired_bootstrap(torch.rand(30), torch.rand(20), Penalty(1.0))
