"""The maxima of terms on the way: in numbers for few variables, exactly for quadratics, else by ascent."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here
from idbpd.optim.enclosure.degree import degree_of
from idbpd.optim.enclosure.tape import record
from idbpd.optim.inner.exact import exact_maximum
from idbpd.optim.inner.function import InnerFunction, Maximum, PointFunction, mixed_derivatives
from idbpd.optim.inner.known_numbers import KnownNumbers, TermValue
from idbpd.optim.inner.maximise import climb
from idbpd.optim.inner.quadratic_over_ball import over_ball
from idbpd.optim.inner.terms import Term
from idbpd.optim.oracle import LinearTerm
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex

_REMEMBERED = 20  # worst cases per term: each costs one more value at every evaluation
# Corners of a simplex that may become rows, the highest; and how many it may have in all. More rows cost more than to
# take it as a whole.
_CORNERS, _MOST_CORNERS = 200, 5_000
# Coordinates of a set that models know as a whole, as the time grows with their cube; entries of all their gradients.
_MOST_SIDES, _MOST_NUMBERS = 2_000, 4_000_000


class TermMaxima:
    """What is known of the terms of a problem from their operations, and worst cases that were hard to find."""

    def __init__(self, terms: Sequence[Term], value: TermValue) -> None:
        """``value`` is as of `KnownNumbers`."""
        self.numbers = KnownNumbers(terms, value)
        self.memory: list[list[Tensor]] = [[] for _ in terms]
        self._terms, self._value = terms, value
        self._degrees: list[float | None] = [None] * len(terms)  # in y or w; None before it is known

    def maximum(self, i: int, x: Tensor, function: PointFunction, start: Tensor) -> Maximum:
        """A maximum on the host, exactly where that can be, else by ascent. ``function`` is the term at ``x``."""
        over = self._over(i)
        start = over.project(start)
        if self._degrees[i] is None:
            self._degrees[i] = self.numbers.read(i, x, over, start)
        starts, is_concave = [start, *self.memory[i]], self._terms[i].concave
        found = self.numbers.maximum(i, x, InnerFunction(function), starts, is_concave=is_concave)
        found = found or self.quadratic(i, function, start)
        return self.climbed(i, InnerFunction(function), start) if math.isinf(found.error) else found

    def quadratic(self, i: int, function: PointFunction, start: Tensor) -> Maximum:
        """The maximum of a function that is a quadratic in y or w, from a point of the set; the error is infinite where
        it is none.
        """
        if self._degrees[i] is None:
            tape = record(function, start)
            # Without a tape only tests speak for a quadratic: enough on the way, not for a certificate.
            self._degrees[i] = 2.0 if tape is None else degree_of(tape)
        f = InnerFunction(function)
        if self._degrees[i] == math.inf or start.numel() == 0:
            return Maximum(start, f.value(start), torch.full((), math.inf, dtype=torch.float64, device=start.device))
        return exact_maximum(f, self._over(i), start)

    def climbed(self, i: int, f: InnerFunction, start: Tensor) -> Maximum:
        """The maximum by ascent, from the start or from a worst case that was hard to find, if that is higher."""
        over = self._over(i)
        start = over.project(start)
        if self._degrees[i] == 2.0 and isinstance(over, Ball):
            found = over_ball(f, over, start)
            if found is not None:
                return found
        if self.memory[i]:
            points = torch.stack([start, *self.memory[i]])
            start = points[int(f.values_somehow(points).nan_to_num(-math.inf).argmax())]
        return climb(f, over, start, is_concave=self._terms[i].concave)

    def peaks(self, x: Tensor, i: int) -> list[Tensor]:
        """The local maximisers at ``x``, where the term is known in numbers and its set can be looked over; of one that
        is linear over a simplex, the highest corners, each of which is a function of its own.
        """
        over = self._terms[i].over
        is_linear = self._degrees[i] == 1.0 and is_here(x)
        if isinstance(over, Simplex) and is_linear and over.n <= _MOST_CORNERS and not self.is_linear(x, i):
            gradient = InnerFunction(lambda point: self._value(x, i, point)).local(over.centre(x)).gradient
            highest = gradient.argsort(descending=True)[:_CORNERS]
            corners = torch.zeros(highest.numel(), over.n, dtype=x.dtype)
            return list(corners.scatter_(1, highest.unsqueeze(1), 1.0).unbind())
        return self.numbers.peaks(x, i)

    def is_linear(self, x: Tensor, i: int) -> bool:
        """Whether the term is linear over a box, or over a simplex with so many corners that they are no `peaks`, that
        is not too large.
        """
        over = self._terms[i].over
        if over is None or self._degrees[i] != 1.0 or not (over.is_bounded and is_here(x)):
            return False
        n = over.dimension
        is_kind = (isinstance(over, Box) and n > 1) or (isinstance(over, Simplex) and n > _CORNERS)
        return is_kind and n <= _MOST_SIDES and n * x.numel() <= _MOST_NUMBERS

    def linear(self, x: Tensor, i: int) -> LinearTerm | None:
        """The term at every point of its set, where it is linear and not too large."""
        if not self.is_linear(x, i):
            return None
        over = self._over(i)
        middle = over.centre(x)
        found = mixed_derivatives(lambda x, point: self._value(x, i, point), x, middle)
        if found is None:
            return None
        halves = 0.5 * (over.high - over.low).flatten().to("cpu", torch.float64) if isinstance(over, Box) else None
        return LinearTerm(middle, halves, *found)

    def remember(self, i: int, point: Tensor) -> None:
        """A worst case that only a verification has found."""
        self.memory[i] = [point, *self.memory[i]][:_REMEMBERED]

    def _over(self, i: int) -> ConvexSet:
        over = self._terms[i].over
        assert over is not None
        return over
