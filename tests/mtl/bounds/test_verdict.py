import math

import pytest

from idbpd.mtl.bounds import Verdict, confidence_of_each, rows_needed, verdict, verdict_of_all


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (0.8, 0.9, "HOLDS"),
        (0.8, 1.0, "HOLDS"),
        (0.8, 1.1, "NOT SHOWN"),
        (1.0, 1.1, "NOT SHOWN"),
        (0.8, math.inf, "NOT SHOWN"),
        (0.8, math.nan, "NOT SHOWN"),
        (1.1, 1.2, "BROKEN"),
        (1.1, 0.9, "BROKEN"),
        (math.nan, 0.9, "BROKEN"),
    ],
)
def test_value_and_bound_decide(value: float, bound: float, expected: str) -> None:
    assert verdict(value, bound, limit=1.0) == expected


def test_the_worst_verdict_is_that_of_all() -> None:
    holds, not_shown, broken = Verdict
    assert verdict_of_all([]) == holds
    assert verdict_of_all([holds, holds]) == holds
    assert verdict_of_all([holds, not_shown]) == not_shown
    assert verdict_of_all([not_shown, broken, holds]) == broken


def test_twice_too_wide_needs_four_times_the_rows() -> None:
    assert rows_needed(value=0.8, bound=1.2, limit=1.0, rows=100) == pytest.approx(400, abs=1)
    assert rows_needed(value=0.5, bound=0.75, limit=1.0, rows=101) == 26
    assert rows_needed(value=0.5, bound=0.5, limit=1.0, rows=100) == 1


@pytest.mark.parametrize(
    ("value", "bound"),
    [(1.0, 1.1), (1.1, 1.2), (0.5, math.inf), (math.nan, 1.0), (0.5, math.nan), (0.99, 2.0), (1 - 1e-16, 1e300)],
)
def test_sometimes_no_number_of_rows_helps(value: float, bound: float) -> None:
    assert rows_needed(value, bound, limit=1.0, rows=100) is None


def test_several_limits_share_what_may_go_wrong() -> None:
    assert confidence_of_each(0.95, 1) == pytest.approx(0.95)
    assert confidence_of_each(0.95, 5) == pytest.approx(0.99)
    with pytest.raises(ValueError, match="limits must be at least 1, got 0"):
        confidence_of_each(0.95, 0)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 95"):
        confidence_of_each(95, 2)
