"""The Hessian in x of a term's maximum over y or w, for terms that are known in numbers.

A worst case w(x) that is free to move follows x. With it the maximum g(x) = psi(x, w(x)) has the Hessian
psi_xx - psi_xw (psi_ww)^-1 psi_wx in the coordinates of w that no bound holds (the reduction of Hettich and Kortanek).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from idbpd.optim.enclosure.expression import TooLargeError
from idbpd.optim.inner.landscape import bounds_of
from idbpd.optim.inner.number_term import NumberTerm
from idbpd.optim.sets import Box, ConvexSet, Space

MOST_VARIABLES = 30  # in x: of more, a Hessian costs more than it saves
_AT_BOUND = 1e-9  # relative distance: an ascent ends at a bound exactly, up to rounding
# Share of the largest curvature in w below which a worst case is not known to move smoothly: rounding there would be
# seen in the sixth digit of a Hessian.
_FLAT = 1e-10


class TermGradient:
    """The value of a term and its partial gradient in x."""

    def __init__(self, term: NumberTerm) -> None:
        """Differentiate once; raises `TooLargeError`."""
        self._value = term.value
        self._gradient = [term.expression.derivative(term.value, one) for one in range(term.fixed)]
        self._split = term.expression.split([term.value, *self._gradient], term.fixed)

    def at(self, x: Sequence[float], point: Tensor | None) -> tuple[float, list[float]] | None:
        """Both at a point; None where numbers are not enough."""
        try:
            v = self._split.begin(x)
            self._split.go_on(v, [] if point is None else point.flatten().tolist())
        except (ArithmeticError, ValueError):
            return None
        return v[self._value], [v[node] for node in self._gradient]


class TermCurvature:
    """The second derivatives of a term in x and w."""

    def __init__(self, term: NumberTerm) -> None:
        """Differentiate once; raises `TooLargeError`."""
        do, x = term.expression.derivative, range(term.fixed)
        gradient = [do(term.value, one) for one in x]
        # Of a symmetric matrix one half; of the rows that concern w, the columns of x.
        self._in_x = [[do(slope, x[j]) for j in range(i + 1)] for i, slope in enumerate(gradient)]
        self._mixed = [[do(slope, one) for one in x] for slope in term.gradient]
        self._in_w, self._of_w, self._fixed = term.hessian, term.gradient, term.fixed
        nodes = [node for rows in (self._in_x, self._mixed, self._in_w) for row in rows for node in row]
        self._split = term.expression.split([*nodes, *self._of_w], term.fixed)

    def at(self, x: Sequence[float], point: Tensor | None, over: ConvexSet | None) -> Tensor | None:
        """The Hessian of the maximum, (d, d); None where the worst case does not move smoothly."""
        try:
            v = self._split.begin(x)
            w = [] if point is None else point.flatten().tolist()
            self._split.go_on(v, w)
        except (ArithmeticError, ValueError):
            return None
        d = self._fixed
        half = [[v[node] for node in row] + [0.0] * (d - 1 - i) for i, row in enumerate(self._in_x)]
        H = torch.tensor(half, dtype=torch.float64)
        H = H + H.tril(-1).T
        free = _free(w, [v[node] for node in self._of_w], over)
        if free is None:
            return None
        if not free:
            return H
        A = -torch.tensor([[v[self._in_w[i][j]] for j in free] for i in free], dtype=torch.float64)
        C = torch.tensor([[v[node] for node in self._mixed[i]] for i in free], dtype=torch.float64)
        if not bool(C.any()):
            return H
        values, vectors = torch.linalg.eigh(A)
        if not float(values[0]) > _FLAT * float(values[-1]):
            return None
        root = (vectors.T @ C) / values.sqrt().unsqueeze(1)
        reduced: Tensor = H + root.T @ root
        return reduced


def _free(w: list[float], slope: list[float], over: ConvexSet | None) -> list[int] | None:
    """The coordinates of a worst case that may move; None where the set has a boundary of another kind."""
    if over is None or isinstance(over, Space):
        return list(range(len(w)))
    if not isinstance(over, Box):
        return None
    held = [
        (g < 0 and wi <= low + _AT_BOUND * (1 + abs(low))) or (g > 0 and wi >= high - _AT_BOUND * (1 + abs(high)))
        for wi, g, (low, high) in zip(w, slope, bounds_of(over), strict=True)
    ]
    return [i for i, is_held in enumerate(held) if not is_held]


def gradient_of(term: NumberTerm) -> TermGradient | None:
    """The gradient of a term; None where it has too many operations."""
    try:
        return TermGradient(term)
    except TooLargeError:
        return None


def curvature_of(term: NumberTerm) -> TermCurvature | None:
    """The curvature of a term; None where it has kinks, or too many variables or operations."""
    if term.fixed > MOST_VARIABLES or not term.is_smooth:
        return None
    try:
        return TermCurvature(term)
    except TooLargeError:
        return None
