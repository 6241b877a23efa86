"""Worsening does not accumulate: many nights, each with a model that is a little worse."""

import pytest
from benchmarks.nightly_drift import WORSE, gates, nights, noise_of_a_comparison, paired_test_alone

MARGIN = 0.05


@pytest.mark.slow
@pytest.mark.parametrize("of_champion", [False, True])
def test_two_hundred_nights_do_not_use_up_more_than_the_margin_and_noise(of_champion: bool) -> None:
    champions = nights(gates(MARGIN), seed=0, of_champion=of_champion)
    assert len(champions) == 201
    # Of 200 comparisons the luckiest decides: about 2.8 standard deviations.
    assert max(champions) <= 1 + MARGIN + 2.8 * noise_of_a_comparison()
    assert max(champions) > 1  # models that are not shown to be worse do pass


@pytest.mark.slow
def test_a_test_without_a_memory_would_lose_more_in_fifty_nights() -> None:
    champions = nights(paired_test_alone, seed=0, of_champion=True, count=50)
    assert champions[-1] > 1 + MARGIN + 2.8 * noise_of_a_comparison(repetitions=50)
    assert champions[-1] == pytest.approx(WORSE**50, rel=0.1)


def test_better_models_move_the_yardstick() -> None:
    """After models that were shown to be better, the margin counts from there."""
    champions = nights(gates(MARGIN), seed=0, of_champion=True, worse=0.9, count=12)
    assert champions[-1] == pytest.approx(0.9**12, rel=1e-9)
