"""How much tighter a limit must be in training, so that it holds on unseen data.

Models are trained on one part of the training rows, under limits with different reserves, and judged on the other part
by the same bound as the final model on the test part. The smallest reserve with which a limit holds there safely is
chosen: more would cost the priority task for nothing.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from idbpd.experiment.limits.thresholds import Promise

# A limit that just holds on the validation part holds on another draw, the test part, half of the time. With this many
# times the distance between value and bound it holds mostly.
CAUTION = 2.0
# The largest reserve that is tried: at 1 the limit is what the task reaches on its own, with nothing left for others.
TIGHTEST = 0.9
TIGHTEST_IN_MEASURE = 0.98  # closer to 1, because the room begins at the loss of a guess and is much larger
# The search ends when the reserve is known to this. The room of a limit in the loss is small. A limit in a measure may
# be anywhere between the loss of a guess and the best loss.
FINE_IN_LOSS = 0.25
FINE_IN_MEASURE = 0.06


class Tried(NamedTuple):
    """A reserve of one task that was tried, and the verdict on its limit on the validation part."""

    reserve: float
    judged: Mapping[str, Any]  # as `judge_limits` gives it

    @property
    def is_safe(self) -> bool:
        """Whether the limit would hold on other samples too, most likely."""
        bound, limit = self.judged["upper_bound"], self.judged["reference"]
        return bound is not None and self.value + CAUTION * (bound - self.value) <= limit

    @property
    def is_broken(self) -> bool:
        """Whether the measured value is beyond the limit."""
        return not self.value <= self.judged["reference"]

    @property
    def value(self) -> float:
        """What is compared with the limit: a worst-case loss, or the mean error of a measure."""
        measured = self.judged["measured"]
        value = self.judged["worst_case_loss"] if measured is None else measured["error"]
        return math.inf if value is None else float(value)  # no sample counts: nothing is safe

    @property
    def excess(self) -> float:
        """How far the bound is beyond the limit, as a share of it; infinite where it is not known."""
        bound, limit = self.judged["upper_bound"], self.judged["reference"]
        return math.inf if bound is None or limit <= 0 else bound / limit - 1


def next_reserve(tried: Sequence[Tried], promise: Promise) -> float | None:
    """The next reserve to try for a task: 0, then the largest, then by halving; None: the search is over.

    If even the largest is not safe, none in between is tried: it could be safe by chance only.
    """
    if not tried:
        return 0.0
    failing = [one.reserve for one in tried if not one.is_safe]
    holding = [one.reserve for one in tried if one.is_safe]
    if not holding:
        tightest = TIGHTEST if promise.measure is None else TIGHTEST_IN_MEASURE
        return tightest if len(tried) == 1 else None
    if not failing:
        return None
    low, high = max((one for one in failing if one < min(holding)), default=0.0), min(holding)
    fine = FINE_IN_LOSS if promise.measure is None else FINE_IN_MEASURE
    return None if high - low <= fine else (low + high) / 2


def choose(tried: Sequence[Tried]) -> Tried:
    """The smallest reserve with which the limit is safe; where none is, the one whose bound comes nearest to it.

    A reserve with which the limit is broken is taken only where it is broken with all.
    """
    holding = [one for one in tried if one.is_safe]
    if holding:
        return min(holding, key=lambda one: one.reserve)
    return min(tried, key=lambda one: (one.is_broken, one.excess, one.reserve))
