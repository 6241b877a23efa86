"""Newton's method for a smooth function of few variables: the quadratic model maximised over the set at each step.

Points and gradients are handled as lists of floats: one operation on so small a tensor costs as much as many on floats.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.inner.gap import ACCURACY
from idbpd.optim.inner.landscape import Curvature, Landscape, TensorLandscape, Visited
from idbpd.optim.qp.over_sets import maximise_quadratic
from idbpd.optim.sets import Ball, ConvexSet

_HALVINGS = 40  # of a step: 1e-12 of its length
_SLACK = 100.0  # how far the function's own rounding may be above that of its value: a sum of many terms
_PATIENCE = 3  # steps that gain nothing before rounding is blamed: one may be chance
_FAR = 1e8  # as in `first_order`


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
    land = TensorLandscape(f, over, start)
    return ascend(land, *land.begin(start), max_steps)


def ascend(land: Landscape, at: Visited, curvature: Curvature | None, max_steps: int) -> Ascended | None:
    """Ascend from a point whose curvature is known. None when there is no second derivative."""
    far = _FAR * (1.0 + max(map(abs, at.point)))
    is_bounded = land.over.is_bounded
    patience = _PATIENCE
    steps = 0
    while curvature is not None:
        quality = _assess(land, at, curvature)
        has_end = at.is_finite and not math.isnan(curvature.size) and (is_bounded or max(map(abs, at.point)) < far)
        if not has_end or not patience or steps == max_steps:
            return Ascended(at, quality, curvature)
        if quality.is_good:
            return _polish(land, Ascended(at, quality, curvature))
        ahead = _search(land, at, curvature, quality)
        if ahead is None:
            return Ascended(at, quality, curvature)
        steps += 1
        before, quality = quality, _assess(land, ahead, curvature)
        patience -= quality.error > 0.5 * before.error and ahead.value - at.value <= before.noise
        at = ahead
        if quality.is_good:
            return _polish(land, Ascended(at, quality, curvature))
        at, curvature = land.examine(at)
    return None


def _polish(land: Landscape, end: Ascended) -> Ascended:
    """Take the model's remaining steps, which improve the point where the value has nothing left to gain.

    A value falls off with the square of the distance to a maximiser that is free to move, inside or along a curved
    boundary: right to 1e-16, it leaves the maximiser, and with it the outer gradient, right to 1e-8 only.
    """
    for _ in range(_PATIENCE):
        at, quality, curvature = end
        # On a ball the boundary bends even where the function does not: a linear function has one maximiser there.
        if not (curvature.is_definite or (curvature.is_concave and isinstance(land.over, Ball))):
            break
        target = _target(land, at, curvature)
        if all(abs(zi - yi) <= 200.0 * land.eps * (1.0 + abs(yi)) for zi, yi in zip(target, at.point, strict=True)):
            break
        ahead = land.visit(target)
        after = _assess(land, ahead, curvature)
        if not ahead.is_finite or ahead.value < at.value - _SLACK * quality.noise or after.error > quality.tolerance:
            break
        end = Ascended(ahead, quality._replace(error=after.error), curvature)
    return end


def _assess(land: Landscape, at: Visited, curvature: Curvature) -> Quality:
    """The Frank-Wolfe gap, or the rise of the model on an unbounded set, against the sizes that the function takes."""
    if not at.is_finite:
        return Quality(math.inf, 0.0, 0.0)
    y, g, is_bounded = at.point, at.gradient, land.over.is_bounded
    s = land.support(at) if is_bounded else _target(land, at, curvature)
    d = [si - yi for si, yi in zip(s, y, strict=True)]
    error = max(0.0, _dot(g, d))
    # Where the model has no maximum, nothing bounds the function.
    if not is_bounded and error > 0.0:
        error = error - 0.5 * curvature.bend(d) if curvature.is_concave and curvature.size > 0.0 else math.inf
    magnitude = sum(abs(gi) * (abs(yi) + abs(di)) for gi, yi, di in zip(g, y, d, strict=True))
    noise = 4.0 * land.eps * (abs(at.value) + magnitude)
    reach = _dot(d, d) if is_bounded else 1.0 + _dot(y, y)
    scale = abs(at.value) + magnitude + curvature.size * reach
    if is_bounded:
        return Quality(error, max(ACCURACY * scale, noise), noise)
    # The rise of the model is quadratic in the distance to the maximiser, the gap linear: so the square is asked for.
    return Quality(error, max(ACCURACY**2 * scale, 0.5 * curvature.size * reach * (8.0 * land.eps) ** 2), noise)


def _search(land: Landscape, at: Visited, curvature: Curvature, quality: Quality) -> Visited | None:
    """Backtrack from the model's maximum until the value is better, or the error is where values differ by noise."""
    d = [zi - yi for zi, yi in zip(_target(land, at, curvature), at.point, strict=True)]
    # What <g, d> is at least, as d leads to the model's maximum; near the end the inner product itself is rounding.
    slope = curvature.bend(d) if curvature.size > 0.0 else _dot(at.gradient, d)
    length = 1.0
    for _ in range(1 + _HALVINGS):
        flat = [yi + length * di for yi, di in zip(at.point, d, strict=True)]
        ahead = land.visit(flat)
        if ahead.value == math.inf:
            return ahead
        if ahead.is_finite:
            gain = ahead.value - at.value
            if gain > 1e-4 * length * slope:
                return ahead
            if gain >= -_SLACK * quality.noise and _assess(land, ahead, curvature).error < 0.5 * quality.error:
                return ahead
        length *= 0.5
        if length * slope < quality.noise:  # no gain can be told from rounding any more
            break
    return None


def _target(land: Landscape, at: Visited, curvature: Curvature) -> list[float]:
    """The maximiser of the model; for a linear function that of its direction."""
    y, g, diagonal = at.point, at.gradient, curvature.diagonal
    if curvature.size == 0.0 and land.over.is_bounded:
        return land.support(at)
    if curvature.size == 0.0:
        # Flat here, perhaps not further out: take a long step, which grows with the distance.
        reach = 100.0 * (1.0 + math.sqrt(_dot(y, y))) / (math.sqrt(_dot(g, g)) or 1.0)
        return land.project([yi + reach * gi for yi, gi in zip(y, g, strict=True)])
    if diagonal is not None and land.bounds is not None:
        ahead = [yi + gi / ai for yi, gi, ai in zip(y, g, diagonal, strict=True)]
        return [min(max(one, low), high) for one, (low, high) in zip(ahead, land.bounds, strict=True)]
    if diagonal is not None and min(diagonal) == max(diagonal):
        return land.project([yi + gi / diagonal[0] for yi, gi in zip(y, g, strict=True)])
    point, gradient = (torch.tensor(one, dtype=torch.float64) for one in (y, g))
    model = curvature.model if diagonal is None else torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    assert model is not None
    return maximise_quadratic(gradient, model, land.over, point).tolist()


def _dot(a: list[float], b: list[float]) -> float:
    return sum(ai * bi for ai, bi in zip(a, b, strict=True))
