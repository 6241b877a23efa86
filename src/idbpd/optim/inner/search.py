"""A search for a global maximum: its task, the best point so far, and its answer."""

import math
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from idbpd.optim.deadline import Deadline
from idbpd.optim.device_reads import read
from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.inner.maximise import climb
from idbpd.optim.knowledge import Known
from idbpd.optim.sets import ConvexSet

_CLIMBS = 4  # from the highest points found: the answer is LOCAL, or a start for boxes that prove the rest


class Task(NamedTuple):
    """A function to maximise over a set, and how hard to try."""

    f: InnerFunction
    over: ConvexSet
    tolerance: float  # to which the maximum is wanted
    effort: float
    enough: float = math.inf  # a value beyond which no proof is wanted: the point is not the answer anyway
    deadline: Deadline = Deadline()
    ascend: Callable[[Tensor], Tensor] | None = None  # a fast way uphill from a point of the set, where there is one

    def uphill(self, start: Tensor) -> Tensor:
        """The local maximum that an ascent from a point of the set leads to."""
        if self.ascend is not None:
            return self.ascend(start)
        return climb(self.f, self.over, start, is_concave=True).point


class Answer(NamedTuple):
    """The highest point found, and how it is known that there is none higher by more than ``error``."""

    point: Tensor
    value: float
    error: float
    known: Known


class Best:
    """The highest point so far."""

    def __init__(self, f: InnerFunction, point: Tensor) -> None:
        """A first point."""
        self._f, self.point, self.value = f, point, float(f.value(point))

    def offer(self, point: Tensor) -> None:
        """Take a point, if it is higher."""
        value = float(self._f.value(point))
        if value > self.value:
            self.point, self.value = point, value

    def climb_from(self, task: Task, points: Tensor, climbs: int = _CLIMBS) -> None:
        """Ascend from the highest of many points, and from the best one."""
        (values,) = read(self._f.values_somehow(points).nan_to_num(-math.inf, neginf=-math.inf))
        order = values.argsort(descending=True)[:climbs].tolist()
        for start in [self.point, *(points[i] for i in order)]:
            self.offer(task.uphill(task.over.project(start)))

    def exact(self, error: float = 0.0) -> Answer:
        """The best point as the maximum."""
        return Answer(self.point, self.value, max(error, 0.0), Known.EXACT)
