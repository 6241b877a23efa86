"""All that an oracle knows of its terms in numbers: their maxima, peaks, gradients and Hessians, for small problems."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here
from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.inner.number_curvature import MOST_VARIABLES, TermCurvature, TermGradient, curvature_of, gradient_of
from idbpd.optim.inner.number_term import (
    NumberLandscape,
    NumberTerm,
    all_peaks,
    maximise_term,
    number_term,
    tracked_peaks,
    true_maximum,
)
from idbpd.optim.inner.terms import Term
from idbpd.optim.sets import ConvexSet

TermValue = Callable[[Tensor, int, Tensor | None], Tensor]  # of a flat x, the number of a term, a point of its set
_SAME = 1e-9  # relative difference of two gradients that is rounding: what a function hides is more


class KnownNumbers:
    """What is known of every term. A term of which nothing is, is a matter of tensors and autograd."""

    def __init__(self, terms: Sequence[Term], value: TermValue) -> None:
        """``value`` computes a term, by its number, at a flat x and a point of its set. Numbers beyond those of
        ``terms`` are functions of x alone.
        """
        self._sets, self._value = [term.over for term in terms], value
        self._numbers: dict[int, NumberTerm | None] = {}
        self._gradients: dict[int, TermGradient | None] = {}  # after a check
        self._curvatures: dict[int, TermCurvature | None] = {}
        self._landscapes: dict[int, tuple[Tensor, NumberLandscape]] = {}  # the last of each term, and its x

    def read(self, i: int, x: Tensor, over: ConvexSet, start: Tensor) -> float | None:
        """Look at the operations of a term; its degree in y or w, None where it is not known in numbers."""
        self._numbers[i] = found = number_term(lambda x, point: self._value(x, i, point), x, over, start)
        return None if found is None else found.degree

    def maximum(
        self, i: int, x: Tensor, f: InnerFunction, starts: Sequence[Tensor], *, is_concave: bool
    ) -> Maximum | None:
        """The maximum of a term with few variables; None where it takes tensors."""
        term, land = self._numbers.get(i), self._landscape(i, x, starts[0])
        if term is None or land is None:
            return None
        found = maximise_term(land, term.degree, starts, is_concave=is_concave)
        if found is None or not found.quality.is_good:
            return None
        maximum = true_maximum(f, land, found)
        if maximum is None:
            # The term does not do everywhere what was recorded.
            self._numbers[i] = self._gradients[i] = self._curvatures[i] = None
        return maximum

    def _set(self, i: int) -> ConvexSet | None:
        return self._sets[i] if i < len(self._sets) else None

    def _landscape(self, i: int, x: Tensor, like: Tensor) -> NumberLandscape | None:
        """A term at ``x``."""
        term, over = self._numbers.get(i), self._set(i)
        if term is None or over is None:
            return None
        last = self._landscapes.get(i)
        if last is not None and last[0] is x:  # asked for several times at each x
            return last[1]
        try:
            land = NumberLandscape(term, x.tolist(), over, like)
        except (ArithmeticError, ValueError):
            return None
        self._landscapes[i] = (x, land)
        return land

    def _smooth_landscape(self, i: int, x: Tensor, like: Tensor) -> NumberLandscape | None:
        """A term without kinks, whose peaks move smoothly with x."""
        term = self._numbers.get(i)
        return self._landscape(i, x, like) if term is not None and term.is_smooth else None

    def tracked(self, x: Tensor, term: int, points: Sequence[Tensor | None]) -> list[Tensor] | None:
        """The local maximisers at ``x`` to which points lead."""
        land = None if points[0] is None else self._smooth_landscape(term, x, points[0])
        return None if land is None else tracked_peaks(land, points)

    def peaks(self, x: Tensor, term: int) -> list[Tensor]:
        """The local maximisers at ``x``, where the set can be looked over."""
        over = self._set(term)
        if over is None or self._numbers.get(term) is None:
            return []
        like = over.centre(x)
        land = self._smooth_landscape(term, x, like)
        return [] if land is None else all_peaks(land, like)

    def ascent(self, i: int, x: Tensor, like: Tensor) -> Callable[[Tensor], Tensor] | None:
        """A fast way uphill for a search."""
        term, land = self._numbers.get(i), self._landscape(i, x, like)
        if term is None or land is None:
            return None

        def ascend(start: Tensor) -> Tensor:
            found = maximise_term(land, term.degree, [start], is_concave=True)
            return start if found is None else land.tensor(found.at.point)

        return ascend

    def linearised(self, i: int, x: Tensor, point: Tensor | None) -> tuple[Tensor, Tensor] | None:
        """The value of a term and its gradient in x; None where autograd is to tell."""
        own = self._gradients.get(i)
        found = None if own is None else own.at(x.tolist(), point)
        return None if found is None else (x.new_tensor(found[0]), x.new_tensor(found[1]))

    def checked(self, i: int, x: Tensor, point: Tensor | None, gradient: Tensor) -> tuple[Tensor, Tensor] | None:
        """The same after a first look whether it is the gradient of autograd: a function may hide part of x from it."""
        term = self._numbers.get(i)
        if term is None or i in self._gradients:
            return None
        self._gradients[i] = gradient_of(term)
        found = self.linearised(i, x, point)
        if found is not None and bool((found[1] - gradient).abs().amax() <= _SAME * (1 + gradient.abs().amax())):
            return found
        self._gradients[i] = None
        return None

    def curvature(
        self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None], weights: Sequence[float]
    ) -> Tensor | None:
        """The Hessian of a weighted sum of terms, where all of them are known."""
        if x.numel() > MOST_VARIABLES or not is_here(x):
            return None
        numbers, total = x.tolist(), torch.zeros(x.numel(), x.numel(), dtype=torch.float64)
        for term, point, weight in zip(terms, points, weights, strict=True):
            if weight == 0.0:
                continue
            own = self._curvature_of(term, x)
            found = None if own is None else own.at(numbers, point, self._set(term))
            if found is None:
                return None
            total += weight * found
        return total

    def _curvature_of(self, i: int, x: Tensor) -> TermCurvature | None:
        """The second derivatives of a term, differentiated when they are first asked for."""
        if i not in self._curvatures:
            term = self._numbers.get(i)
            if self._set(i) is None:
                term = number_term(lambda x, _: self._value(x, i, None), x)
            self._curvatures[i] = None if term is None else curvature_of(term)
        return self._curvatures[i]
