import pytest
import scipy.stats

from idbpd.mtl.bounds import clopper_pearson_lower, clopper_pearson_upper

COUNTS = [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (950, 1000), (1, 100_000), (99_999, 100_000), (40_000, 100_000)]


@pytest.mark.parametrize(("successes", "trials"), COUNTS)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_they_are_the_quantiles_of_the_beta_distribution(successes: int, trials: int, confidence: float) -> None:
    upper = scipy.stats.beta.ppf(confidence, successes + 1, trials - successes) if successes < trials else 1.0
    lower = scipy.stats.beta.ppf(1 - confidence, successes, trials - successes + 1) if successes else 0.0
    assert clopper_pearson_upper(successes, trials, confidence) == pytest.approx(upper, rel=1e-9, abs=1e-14)
    assert clopper_pearson_lower(successes, trials, confidence) == pytest.approx(lower, rel=1e-9, abs=1e-12)


def test_no_hit_in_n_trials_is_the_rule_of_three() -> None:
    assert clopper_pearson_upper(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300), rel=1e-12)
    assert clopper_pearson_upper(0, 300) == pytest.approx(3 / 300, rel=0.01)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.97])
def test_it_covers_the_rate_at_least_as_often_as_it_says(rate: float) -> None:
    # Exact: the chance of all counts whose bound is above the rate.
    covering = [k for k in range(61) if clopper_pearson_upper(k, 60) >= rate]
    assert sum(scipy.stats.binom.pmf(covering, 60, rate)) >= 0.95


def test_they_are_monotone() -> None:
    uppers = [clopper_pearson_upper(k, 20) for k in range(21)]
    assert uppers == sorted(uppers)
    assert clopper_pearson_upper(5, 20, 0.9) < clopper_pearson_upper(5, 20, 0.99)
    assert clopper_pearson_lower(5, 20) < 0.25 < clopper_pearson_upper(5, 20)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"successes must be from 0 to .* got {successes} of {trials}"):
        clopper_pearson_upper(successes, trials)
