"""A term with few variables in numbers: its operations are recorded once for all x, its inner maxima need no tensor.

What was recorded is taken for the term only as long as it gives the term's own value where it counts, at the worst case
of each evaluation. A certificate does not rest on it.
"""

import math
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here
from idbpd.optim.enclosure.expression import Expression, Split, TooLargeError
from idbpd.optim.enclosure.scalar_tape import expression_of
from idbpd.optim.enclosure.tape import record
from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.inner.landscape import Curvature, Landscape, Visited, numbers
from idbpd.optim.inner.multistart import can_search, grid_peaks, promising_starts
from idbpd.optim.inner.newton import Ascended, ascend
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex, Space

JointFunction = Callable[[Tensor, Tensor | None], Tensor]  # of x, flat, and of a point of the set
_SETS = (Ball, Box, Simplex, Space, NoneType)
_MOST_VARIABLES = 4  # in y or w: of more, Hessians have too many entries
_MOST_NUMBERS = 100  # x included: of more, tensors are as fast
_STEPS = 100  # of Newton's method, as in `maximise`
_MOST_PEAKS = 8  # of a term that become rows: so many are seldom active at once, and each costs an ascent
_SAME = 1e-9  # relative difference of the recorded and the true value that is rounding


class NumberTerm(NamedTuple):
    """The operations of a term, of x and y or w, as single numbers."""

    expression: Expression
    fixed: int  # the entries of x
    value: int  # nodes
    gradient: list[int]
    hessian: list[list[int]]
    degree: float  # in y or w
    is_smooth: bool  # without kinks: only then a worst case moves smoothly with x
    everything: Split
    value_alone: Split


def number_term(
    function: JointFunction, x: Tensor, over: ConvexSet | None = None, point: Tensor | None = None
) -> NumberTerm | None:
    """A term in numbers; None where it has too many, or does what a tape cannot show."""
    d, n = x.numel(), 0 if point is None else point.numel()
    if n > _MOST_VARIABLES or d + n > _MOST_NUMBERS or not isinstance(over, _SETS):
        return None
    if not (is_here(x) and x.dtype == torch.float64):
        return None
    if point is None:
        tape = record(lambda alone: function(alone, None), x)
    elif is_here(point) and point.dtype == torch.float64:
        shape = point.shape
        tape = record(lambda both: function(both[:d], both[d:].reshape(shape)), torch.cat([x, point.flatten()]))
    else:
        return None
    found = None if tape is None else expression_of(tape)
    if found is None:
        return None
    expression, value = found
    variables = range(d, d + n)
    try:
        gradient = [expression.derivative(value, one) for one in variables]
        hessian = [[expression.derivative(slope, one) for one in variables] for slope in gradient]
    except TooLargeError:
        return None
    everything = expression.split([value, *gradient, *(node for row in hessian for node in row)], d)
    degree = expression.degree(value, variables)
    is_smooth = expression.is_smooth(value)
    alone = expression.split([value], d)
    return NumberTerm(expression, d, value, gradient, hessian, degree, is_smooth, everything, alone)


class NumberLandscape(Landscape):
    """A term at one x, over its set. Evaluating it may raise `ArithmeticError` or `ValueError`."""

    def __init__(self, term: NumberTerm, x: Sequence[float], over: ConvexSet, like: Tensor) -> None:
        """The term at ``x``, at points like ``like``."""
        super().__init__(over, like)
        self._term, self._x = term, x
        self._memory = term.everything.begin(x)
        self._many: list[Any] | None = None
        self._looked_at: Tensor | None = None  # the points of the last look over the set, with their values
        self._values = like
        self._last: list[float] | None = None

    def visit(self, flat: list[float]) -> Visited:
        """The nearest point of the set, evaluated."""
        point = self.project(flat)
        v = self._memory
        self._term.everything.go_on(v, point)
        self._last = point
        return Visited(point, v[self._term.value], [v[node] for node in self._term.gradient])

    def examine(self, at: Visited) -> tuple[Visited, Curvature]:
        """The same point with its curvature."""
        v = self._memory
        if self._last is not at.point:
            self._term.everything.go_on(v, at.point)
            self._last = at.point
        return at, Curvature.of([[v[node] for node in row] for row in self._term.hessian])

    def values(self, points: Tensor, batched: bool = True) -> Tensor:  # noqa: ARG002 - as of an `InnerFunction`
        """The values at many points."""
        if points is self._looked_at:
            return self._values
        if self._many is None:
            self._many = self._term.value_alone.begin(self._x)
        columns = points.reshape(points.shape[0], -1).unbind(1)
        self._term.value_alone.go_on_with(self._many, columns)
        found = self._many[self._term.value]
        self._looked_at = points
        self._values = found if isinstance(found, Tensor) else torch.full_like(columns[0], found)
        return self._values


def maximise_term(
    land: NumberLandscape, degree: float, starts: Sequence[Tensor], *, is_concave: bool
) -> Ascended | None:
    """The maximum from the highest of some points; None where numbers are not enough for it."""
    try:
        at = max((land.visit(numbers(start)) for start in starts), key=lambda one: one.value)
        found = ascend(land, *land.examine(at), _STEPS)
        if found is None or not math.isfinite(found.at.value):
            return None
        if is_concave or (degree <= 2 and found.curvature.is_concave) or not can_search(land.over):
            return found
        best, point = found, land.tensor(found.at.point)
        margin = found.quality.tolerance
        for start in promising_starts(land, land.over, point, value=found.at.value, margin=margin, batched=True):
            other = ascend(land, *land.examine(land.visit(numbers(start))), _STEPS)
            best = other if other is not None and other.at.value > best.at.value else best
    except (ArithmeticError, ValueError):  # a number that a tensor would call infinite, or not a number
        return None
    return best


def tracked_peaks(land: NumberLandscape, points: Sequence[Tensor | None]) -> list[Tensor] | None:
    """The local maximisers to which points lead; None where numbers are not enough."""
    found = []
    try:
        for point in points:
            if point is None:
                return None
            end = ascend(land, *land.examine(land.visit(numbers(point))), _STEPS)
            if end is None or not math.isfinite(end.at.value):
                return None
            found.append(land.tensor(end.at.point))
    except (ArithmeticError, ValueError):
        return None
    return found


def all_peaks(land: NumberLandscape, like: Tensor) -> list[Tensor]:
    """The local maximisers that a look over the whole set shows, the highest first."""
    starts = grid_peaks(land, land.over, like, _MOST_PEAKS)
    return tracked_peaks(land, starts) or []


def true_maximum(f: InnerFunction, land: NumberLandscape, found: Ascended) -> Maximum | None:
    """What was found, with the function's own value; None where that is another one."""
    point = land.tensor(found.at.point)
    value = f.value(point)
    own = float(value)
    if not abs(own - found.at.value) <= _SAME * (1.0 + abs(own)):
        return None
    return Maximum(point, value, torch.full_like(value, found.quality.error))
