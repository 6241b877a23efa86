"""Which reserves are tried, and which is chosen."""

from typing import Any

import pytest

from idbpd.experiment.thresholds import Promise
from idbpd.pipelines.calibration.reserve import TIGHTEST, Tried, choose, next_reserve

RELATIVE = Promise(slack=0.1)
IN_MEASURE = Promise(measure="accuracy", level=0.9)


def _tried(reserve: float, verdict: str, bound: float | None = 1.0) -> Tried:
    return Tried(reserve, {"verdict": verdict, "upper_bound": bound, "reference": 1.0})


def _search(promise: Promise, enough: float) -> list[float]:
    """The reserves that are tried where the limit holds from ``enough`` on."""
    tried: list[Tried] = []
    while (reserve := next_reserve(tried, promise)) is not None:
        tried.append(_tried(reserve, "HOLDS" if reserve >= enough else "BROKEN"))
    return [one.reserve for one in tried]


def test_a_limit_that_holds_needs_no_reserve() -> None:
    assert _search(RELATIVE, enough=0.0) == [0.0]


def test_where_even_the_tightest_limit_does_not_hold_nothing_more_is_tried() -> None:
    assert _search(RELATIVE, enough=2.0) == [0.0, TIGHTEST]


def test_in_between_it_is_halved() -> None:
    assert _search(RELATIVE, enough=0.3) == pytest.approx([0.0, 0.9, 0.45, 0.225])
    assert _search(IN_MEASURE, enough=0.3) == pytest.approx([0.0, 0.9, 0.45, 0.225, 0.3375, 0.28125])


def test_the_smallest_reserve_that_holds_is_chosen() -> None:
    tried = [_tried(0.0, "BROKEN"), _tried(0.9, "HOLDS"), _tried(0.45, "HOLDS"), _tried(0.225, "NOT SHOWN")]
    assert choose(tried).reserve == 0.45


@pytest.mark.parametrize(("bounds", "chosen"), [((1.3, 1.2), 0.9), ((1.2, 1.3), 0.0), ((1.2, 1.2), 0.0)])
def test_where_nothing_holds_the_one_that_comes_nearest_is_chosen(bounds: tuple[float, float], chosen: float) -> None:
    tried = [_tried(reserve, "NOT SHOWN", bound) for reserve, bound in zip((0.0, 0.9), bounds, strict=True)]
    assert choose(tried).reserve == chosen


def test_a_bound_that_is_not_known_is_never_nearest() -> None:
    known: Any = _tried(0.9, "BROKEN", 5.0)
    assert choose([_tried(0.0, "NOT SHOWN", None), known]) is known
