"""Which reserves are tried, and which is chosen."""

import pytest

from idbpd.experiment.limits.thresholds import Promise
from idbpd.pipelines.calibration.reserve import TIGHTEST, Tried, choose, next_reserve

RELATIVE = Promise(slack=0.1)
IN_MEASURE = Promise(measure="accuracy", level=0.9)


def _tried(reserve: float, bound: float | None, value: float = 0.8) -> Tried:
    return Tried(reserve, {"worst_case_loss": value, "upper_bound": bound, "reference": 1.0, "measured": None})


def _search(promise: Promise, enough: float) -> list[float]:
    """The reserves that are tried where the limit holds from ``enough`` on."""
    tried: list[Tried] = []
    while (reserve := next_reserve(tried, promise)) is not None:
        tried.append(_tried(reserve, 0.85 if reserve >= enough else 1.1))
    return [one.reserve for one in tried]


def test_a_limit_that_holds_needs_no_reserve() -> None:
    assert _search(RELATIVE, enough=0.0) == [0.0]


def test_where_even_the_tightest_limit_does_not_hold_nothing_more_is_tried() -> None:
    assert _search(RELATIVE, enough=2.0) == [0.0, TIGHTEST]


def test_in_between_it_is_halved() -> None:
    assert _search(RELATIVE, enough=0.3) == pytest.approx([0.0, 0.9, 0.45, 0.225])
    assert _search(IN_MEASURE, enough=0.3) == pytest.approx([0.0, 0.98, 0.49, 0.245, 0.3675, 0.30625, 0.275625])


def test_the_smallest_reserve_that_is_safe_is_chosen() -> None:
    tried = [_tried(0.0, 1.1), _tried(0.9, 0.85), _tried(0.45, 0.9), _tried(0.225, 0.95)]
    assert choose(tried).reserve == 0.45  # 0.8 + 2 x 0.1; with 0.225 the limit just holds


def test_a_limit_in_a_measure_is_judged_by_its_error() -> None:
    judged = {"worst_case_loss": 9.0, "upper_bound": 0.09, "reference": 0.1, "measured": {"error": 0.085}}
    assert Tried(0.0, judged).is_safe
    assert not Tried(0.0, {**judged, "measured": {"error": 0.075}}).is_safe


@pytest.mark.parametrize(("bounds", "chosen"), [((1.3, 1.2), 0.9), ((1.2, 1.3), 0.0), ((1.2, 1.2), 0.0)])
def test_where_nothing_is_safe_the_one_that_comes_nearest_is_chosen(bounds: tuple[float, float], chosen: float) -> None:
    tried = [_tried(reserve, bound) for reserve, bound in zip((0.0, 0.9), bounds, strict=True)]
    assert choose(tried).reserve == chosen


def test_a_broken_limit_is_never_nearer_than_one_that_is_not_shown() -> None:
    broken, not_shown = _tried(0.0, 1.17, value=1.03), _tried(0.9, 1.2, value=0.96)
    assert choose([broken, not_shown]) is not_shown


def test_a_bound_that_is_not_known_is_never_nearest() -> None:
    known = _tried(0.9, 5.0)
    assert choose([_tried(0.0, None), known]) is known
