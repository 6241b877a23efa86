"""Read texts as dates, where day and month cannot be mistaken for each other."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ISO = "ISO8601"
_ISO = re.compile(r"\d{4}([-/])\d{1,2}\1\d{1,2}([T ]\d{1,2}:\d{2}.*)?")
_TIME = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Forms whose order is certain. Those with slashes or hyphens and the year last are in `_EITHER`.
_CERTAIN = ("%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d/%b/%Y")
_EITHER = (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"), ("%d.%m.%y", "%m.%d.%y"), ("%d/%m/%y", "%m/%d/%y"))


class Dates(NamedTuple):
    """The seconds from 1970 to dates, in UTC, and their form if it is not ISO 8601."""

    seconds: NDArray[np.float64]
    form: str | None = None


def read_dates(words: Sequence[str], form: str | None = None) -> Dates | None:
    """The seconds from 1970 to each word's date, in UTC; None if a word is not a date, or if two readings are possible.

    ``form`` is the form of the dates, if it is stated: ``%d/%m/%Y``.
    """
    if form is not None:
        return _parsed(words, form) if words else None
    readings = _readings(words)
    return readings[0] if len(readings) == 1 else None


def two_readings(words: Sequence[str]) -> bool:
    """Whether day and month of these dates cannot be told apart, because no day is beyond 12."""
    return len(_readings(words)) > 1


def which_are_dates(words: Sequence[str]) -> NDArray[np.bool_]:
    """Which words have the form of a date, where not all of them are dates."""
    return np.array([_ISO.fullmatch(word) is not None for word in words], dtype=np.bool_)


def _readings(words: Sequence[str]) -> list[Dates]:
    """The dates in every form that fits all words; of forms whose order is certain, the first."""
    # Most texts are no dates; one word tells.
    if not words or re.search(r"\d", words[0]) is None or len(words[0]) < 6:
        return []
    if _ISO.fullmatch(words[0]):
        dates = _parsed(words, ISO) if all(_ISO.fullmatch(word) for word in words) else None
        return [] if dates is None else [dates]
    for time in _TIME:
        for certain in _CERTAIN:
            dates = _parsed(words, certain + time)
            if dates is not None:
                return [dates]
        for pair in _EITHER:
            readings = [dates for either in pair if (dates := _parsed(words, either + time)) is not None]
            if len(readings) == 2 and np.array_equal(readings[0].seconds, readings[1].seconds):
                return readings[:1]
            if readings:
                return readings
    return []


def date_text(seconds: float) -> str:
    """A date as the name of a class or category: with its time only if it has one."""
    moment = pd.Timestamp(seconds, unit="s")
    return moment.strftime("%Y-%m-%d") if moment == moment.normalize() else moment.strftime("%Y-%m-%d %H:%M:%S")


def _parsed(words: Sequence[str], form: str) -> Dates | None:
    try:
        pd.to_datetime(list(words[:1]), format=form, utc=True)  # fails at once on a column of something else
        moments = pd.to_datetime(list(words), format=form, utc=True)
    except (ValueError, OverflowError):
        return None
    return Dates(seconds_of(moments), None if form == ISO else form)


def seconds_of(moments: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Seconds since 1970, NaN where there is no date."""
    microseconds = moments.as_unit("us").asi8.astype(np.float64)
    microseconds[np.asarray(moments.isna())] = np.nan
    return microseconds / 1e6
