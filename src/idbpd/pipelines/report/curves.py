"""Histories of several seeds as one curve: the median, and the range, on a common axis."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
POINTS = 50


class Curve(NamedTuple):
    """A quantity over steps or seconds."""

    at: Numbers
    median: Numbers
    low: Numbers
    high: Numbers


def curve(histories: Sequence[pd.DataFrame], quantity: str, over: str) -> Curve:
    """The median and the range of a quantity over several runs; a run that has ended keeps its last value.

    ``over`` is ``step`` or ``seconds``. Points are spaced by their logarithm, as they are drawn.
    """
    rows = [history[[over, quantity]].dropna() for history in histories]
    rows = [row[row[over] > 0] for row in rows]
    rows = [row for row in rows if len(row)]
    if not rows:
        none = np.empty(0)
        return Curve(none, none, none, none)
    first, last = max(row[over].iloc[0] for row in rows), max(row[over].iloc[-1] for row in rows)
    at = np.geomspace(first, max(first, last), POINTS)
    values = np.stack([_at(row[over].to_numpy(float), row[quantity].to_numpy(float), at) for row in rows])
    return Curve(at, np.median(values, axis=0), values.min(axis=0), values.max(axis=0))


def _at(known: Numbers, values: Numbers, wanted: Numbers) -> Numbers:
    """The latest value at or before each wanted point."""
    where = np.searchsorted(known, wanted * (1 + 1e-12), side="right") - 1
    taken: Numbers = values[where.clip(min=0)]
    return taken
