"""What a measured value and its bound say about a limit on unseen data."""

import math
from collections.abc import Iterable
from enum import StrEnum

from idbpd.mtl.bounds.confidence import check_confidence


class Verdict(StrEnum):
    """Whether a limit holds on unseen data."""

    HOLDS = "HOLDS"  # the bound is within the limit: wrong at most as often as the confidence says
    NOT_SHOWN = "NOT SHOWN"  # the measured value is within, its bound beyond: more test rows are needed
    BROKEN = "BROKEN"  # the measured value is beyond the limit


def verdict(value: float, bound: float, limit: float) -> Verdict:
    """The verdict on one limit. A value that is NaN is BROKEN; a bound that is NaN shows nothing."""
    if not value <= limit:
        return Verdict.BROKEN
    return Verdict.HOLDS if bound <= limit else Verdict.NOT_SHOWN


def verdict_of_all(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of the verdicts; HOLDS where there is no limit."""
    found = set(verdicts)
    return next((worst for worst in (Verdict.BROKEN, Verdict.NOT_SHOWN) if worst in found), Verdict.HOLDS)


MOST_ROWS = 1000  # so many times the rows of the test part are no advice any more


def rows_needed(value: float, bound: float, limit: float, rows: int) -> int | None:
    """How many test rows would have shown the limit, if the value stays: its distance to the bound falls as 1/sqrt.

    None where no number of rows would, or none that anybody has (`MOST_ROWS`): the value is not below the limit or
    hardly so, or nothing is known of its bound.
    """
    if not value < limit or not math.isfinite(bound):
        return None
    distances = (bound - value) / (limit - value)
    times = distances * distances
    return max(1, math.ceil(rows * times)) if times <= MOST_ROWS else None


def confidence_of_each(confidence: float, limits: int) -> float:
    """The confidence of each of several limits with which all verdicts together have ``confidence`` (Bonferroni)."""
    check_confidence(confidence)
    if limits < 1:
        raise ValueError(f"limits must be at least 1, got {limits}")
    return 1 - (1 - confidence) / limits
