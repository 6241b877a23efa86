"""Newton's method for a smooth function of few variables: the quadratic model maximised over the set at each step.

Points and gradients are handled as lists of floats: one operation on so small a tensor costs as much as many on floats.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, read
from idbpd.optim.inner.function import InnerFunction, Local
from idbpd.optim.inner.gap import ACCURACY
from idbpd.optim.qp.over_sets import maximise_quadratic, maximise_separable
from idbpd.optim.sets import Ball, Box, ConvexSet

_HALVINGS = 40  # of a step: 1e-12 of its length
_SLACK = 100.0  # how far the function's own rounding may be above that of its value
_PATIENCE = 3  # steps that gain nothing before rounding is blamed
_FAR = 1e8  # how many times its size a point may move on an unbounded set before the function is held to be unbounded


class Curvature(NamedTuple):
    """A Hessian, and the positive definite matrix that the model is built with: minus the Hessian, made concave."""

    hessian: Tensor  # (n, n), float64, on the host
    model: Tensor
    diagonal: list[float] | None  # of the model, where there is nothing else in it
    size: float  # the largest eigenvalue in absolute value; 0 for a linear function, NaN where there is no Hessian
    is_concave: bool
    is_definite: bool  # concave, and flat in no direction

    @classmethod
    def of(cls, hessian: Tensor) -> "Curvature":
        """Reverse the sign of upward curvature, as an ascent leaves such directions, and lift flat ones a little."""
        if not bool(hessian.isfinite().all()):
            return cls(hessian, -hessian, None, math.nan, is_concave=False, is_definite=False)
        diagonal = -hessian.diagonal()
        is_diagonal = torch.equal(torch.diag(-diagonal), hessian)
        values, vectors = (diagonal, None) if is_diagonal else torch.linalg.eigh(-hessian)
        smallest, size = float(values.min()), float(values.abs().max())
        floor = 1e-10 * size
        lifted = values.abs().clamp(min=floor)
        if vectors is None:
            model = torch.diag(lifted)
        else:
            model = -hessian if smallest >= floor else vectors @ torch.diag(lifted) @ vectors.T
        is_definite = size > 0.0 and smallest >= floor
        numbers = lifted.tolist() if is_diagonal else None
        return cls(hessian, model, numbers, size, is_concave=smallest >= -floor, is_definite=is_definite)


class Visited(NamedTuple):
    """A point that was evaluated, in numbers."""

    here: Local
    point: list[float]
    value: float
    gradient: list[float]

    @classmethod
    def of(cls, here: Local) -> "Visited":
        """Read the numbers out of the tensors."""
        point, value, gradient = read(here.point, here.value, here.gradient)
        return cls(here, point.flatten().tolist(), number(value), gradient.flatten().tolist())

    @property
    def is_finite(self) -> bool:
        """Whether an ascent can go on from here."""
        return math.isfinite(self.value) and all(map(math.isfinite, self.gradient))


class Quality(NamedTuple):
    """How good a point is: a bound on what is left to gain, what is negligible, and what is rounding."""

    error: float
    tolerance: float
    noise: float

    @property
    def is_good(self) -> bool:
        """Whether nothing worth another step is left."""
        return self.error <= self.tolerance


class Ascended(NamedTuple):
    """Where an ascent ended, and the curvature last used."""

    at: Visited
    quality: Quality
    curvature: Curvature


def newton_ascent(f: InnerFunction, over: ConvexSet, start: Tensor, max_steps: int) -> Ascended | None:
    """Ascend from ``start``, a point of the set. None when there is no second derivative."""
    at, curvature = _examine(f, start)
    far = _FAR * (1.0 + max(map(abs, at.point)))
    patience = _PATIENCE
    steps = 0
    while curvature is not None:
        quality = _assess(over, at, curvature)
        has_end = at.is_finite and not math.isnan(curvature.size) and (over.is_bounded or max(map(abs, at.point)) < far)
        if not has_end or not patience or steps == max_steps:
            return Ascended(at, quality, curvature)
        if quality.is_good:
            return _polish(f, over, Ascended(at, quality, curvature))
        ahead = _search(f, over, at, curvature, quality)
        if ahead is None:
            return Ascended(at, quality, curvature)
        steps += 1
        before, quality = quality, _assess(over, ahead, curvature)
        patience -= quality.error > 0.5 * before.error and ahead.value - at.value <= before.noise
        at = ahead
        if quality.is_good:
            return _polish(f, over, Ascended(at, quality, curvature))
        at, curvature = _examine(f, at.here.point)
    return None


def _visit(f: InnerFunction, point: Tensor) -> Visited:
    return Visited.of(f.local(point))


def _examine(f: InnerFunction, point: Tensor) -> tuple[Visited, Curvature | None]:
    here, hessian = f.second_order(point)
    return Visited.of(here), None if hessian is None else Curvature.of(hessian.cpu())


def _polish(f: InnerFunction, over: ConvexSet, end: Ascended) -> Ascended:
    """Take the model's remaining steps, which improve the point where the value has nothing left to gain.

    A value falls off with the square of the distance to a maximiser that is free to move, inside or along a curved
    boundary: right to 1e-16, it leaves the maximiser, and with it the outer gradient, right to 1e-8 only.
    """
    for _ in range(_PATIENCE):
        at, quality, curvature = end
        # On a ball the boundary bends even where the function does not: a linear function has one maximiser there.
        if not (curvature.is_definite or (curvature.is_concave and isinstance(over, Ball))):
            break
        target = _target(over, at, curvature)
        eps = torch.finfo(at.here.point.dtype).eps
        if all(abs(zi - yi) <= 200.0 * eps * (1.0 + abs(yi)) for zi, yi in zip(target, at.point, strict=True)):
            break
        ahead = _visit(f, _point(over, at, target))
        after = _assess(over, ahead, curvature)
        if not ahead.is_finite or ahead.value < at.value - _SLACK * quality.noise or after.error > quality.tolerance:
            break
        end = Ascended(ahead, quality._replace(error=after.error), curvature)
    return end


def _point(over: ConvexSet, at: Visited, flat: list[float]) -> Tensor:
    point = torch.tensor(flat, dtype=torch.float64).to(at.here.point)
    return over.project(point.reshape(at.here.point.shape))


def _assess(over: ConvexSet, at: Visited, curvature: Curvature) -> Quality:
    """The Frank-Wolfe gap, or the rise of the model on an unbounded set, against the sizes that the function takes."""
    if not at.is_finite:
        return Quality(math.inf, 0.0, 0.0)
    y, g = at.point, at.gradient
    s = _numbers(over.support(at.here.gradient)) if over.is_bounded else _target(over, at, curvature)
    d = [si - yi for si, yi in zip(s, y, strict=True)]
    error = max(0.0, _dot(g, d))
    # Where the model has no maximum, nothing bounds the function.
    if not over.is_bounded and error > 0.0:
        error = error - 0.5 * _bend(curvature.model, d) if curvature.is_concave and curvature.size > 0.0 else math.inf
    magnitude = sum(abs(gi) * (abs(yi) + abs(di)) for gi, yi, di in zip(g, y, d, strict=True))
    eps = torch.finfo(at.here.point.dtype).eps
    noise = 4.0 * eps * (abs(at.value) + magnitude)
    reach = _dot(d, d) if over.is_bounded else 1.0 + _dot(y, y)
    scale = abs(at.value) + magnitude + curvature.size * reach
    if over.is_bounded:
        return Quality(error, max(ACCURACY * scale, noise), noise)
    # The rise of the model is quadratic in the distance to the maximiser, the gap linear: so the square is asked for.
    return Quality(error, max(ACCURACY**2 * scale, 0.5 * curvature.size * reach * (8.0 * eps) ** 2), noise)


def _search(f: InnerFunction, over: ConvexSet, at: Visited, curvature: Curvature, quality: Quality) -> Visited | None:
    """Backtrack from the model's maximum until the value is better, or the error is where values differ by noise."""
    d = [zi - yi for zi, yi in zip(_target(over, at, curvature), at.point, strict=True)]
    # What <g, d> is at least, as d leads to the model's maximum; near the end the inner product itself is rounding.
    slope = _bend(curvature.model, d) if curvature.size > 0.0 else _dot(at.gradient, d)
    length = 1.0
    for _ in range(1 + _HALVINGS):
        flat = [yi + length * di for yi, di in zip(at.point, d, strict=True)]
        ahead = _visit(f, _point(over, at, flat))
        if ahead.value == math.inf:
            return ahead
        if ahead.is_finite:
            gain = ahead.value - at.value
            if gain > 1e-4 * length * slope:
                return ahead
            if gain >= -_SLACK * quality.noise and _assess(over, ahead, curvature).error < 0.5 * quality.error:
                return ahead
        length *= 0.5
        if length * slope < quality.noise:  # no gain can be told from rounding any more
            break
    return None


def _target(over: ConvexSet, at: Visited, curvature: Curvature) -> list[float]:
    """The maximiser of the model; for a linear function that of its direction."""
    if curvature.size == 0.0 and over.is_bounded:
        return _numbers(over.support(at.here.gradient))
    if curvature.size == 0.0:
        # Flat here, perhaps not further out: take a long step, which grows with the distance.
        steepness = math.sqrt(_dot(at.gradient, at.gradient)) or 1.0
        reach = 100.0 * (1.0 + math.sqrt(_dot(at.point, at.point))) / steepness
        return _numbers(over.project(at.here.point + reach * at.here.gradient))
    if curvature.diagonal is not None and isinstance(over, Box):
        return maximise_separable(at.gradient, curvature.diagonal, over, at.point)
    if curvature.diagonal is not None and min(curvature.diagonal) == max(curvature.diagonal):
        point, gradient = at.here.point.double(), at.here.gradient.double()
        return _numbers(over.project(point + gradient / curvature.diagonal[0]))
    g, y = (torch.tensor(numbers, dtype=torch.float64) for numbers in (at.gradient, at.point))
    return maximise_quadratic(g, curvature.model, over, y).tolist()


def _numbers(tensor: Tensor) -> list[float]:
    numbers: list[float] = read(tensor)[0].flatten().tolist()
    return numbers


def _bend(matrix: Tensor, d: list[float]) -> float:
    """``d.M d``."""
    step = torch.tensor(d, dtype=torch.float64)
    return float(step @ matrix @ step)


def _dot(a: list[float], b: list[float]) -> float:
    return sum(ai * bi for ai, bi in zip(a, b, strict=True))
