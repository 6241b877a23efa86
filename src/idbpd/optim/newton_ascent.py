"""Newton's method for a smooth function of few variables: the quadratic model maximised over the set at each step."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.inner_function import InnerFunction, Local
from idbpd.optim.optimality_gap import linear_gap, rounding
from idbpd.optim.quadratic_program import maximise_quadratic
from idbpd.optim.sets import ConvexSet

_HALVINGS = 40
_PATIENCE = 3  # steps that gain nothing before rounding is blamed


class Curvature(NamedTuple):
    """A Hessian, and minus its nearest concave relative: the positive definite matrix that the model is built with."""

    hessian: Tensor  # (n, n), float64, on the host
    model: Tensor
    size: float  # the largest eigenvalue in absolute value; 0 for a linear function
    is_concave: bool

    @classmethod
    def of(cls, hessian: Tensor) -> "Curvature":
        """Turn directions of upward curvature around, as an ascent must leave them, and lift flat ones a little."""
        values, vectors = torch.linalg.eigh(-hessian)
        size = float(values.abs().max())
        if not math.isfinite(size) or size == 0.0:
            return cls(hessian, -hessian, size, is_concave=True)
        floor = 1e-10 * size
        if float(values[0]) >= floor:
            return cls(hessian, -hessian, size, is_concave=True)
        model = vectors @ torch.diag(values.abs().clamp(min=floor)) @ vectors.T
        return cls(hessian, 0.5 * (model + model.T), size, is_concave=float(values[0]) >= -floor)


class Ascended(NamedTuple):
    """Where an ascent ended: value and gradient, the bound on what is left to gain, and the curvature last used."""

    here: Local
    error: float
    tolerance: float
    curvature: Curvature


class _Assessment(NamedTuple):
    error: float
    tolerance: float
    noise: float


def newton_ascent(
    f: InnerFunction, over: ConvexSet, start: Tensor, known: Curvature | None, *, accuracy: float, max_steps: int
) -> Ascended | None:
    """Ascend from ``start``, a point of the set, first with a curvature ``known`` from an earlier call, then with
    fresh ones.

    On a quadratic function of known curvature this takes two gradients. None when there is no second derivative.
    """
    here = f.local(start)
    curvature = known or _curvature(f, here)
    stale = known is not None
    patience = _PATIENCE
    for _ in range(max_steps):
        if curvature is None:
            return None
        now = _assess(over, here, curvature, accuracy)
        if not _is_finite(here) or not math.isfinite(curvature.size) or now.error <= now.tolerance or not patience:
            break
        ahead = _search(f, over, here, curvature, now, halvings=0 if stale else _HALVINGS)
        if ahead is None and not stale:
            break
        if ahead is not None:
            then = _assess(over, ahead, curvature, accuracy)
            patience -= then.error > 0.5 * now.error and float(ahead.value - here.value) <= now.noise
            here = ahead
            if then.error <= then.tolerance:
                break
        curvature, stale = _curvature(f, here), False
    if curvature is None:
        return None
    now = _assess(over, here, curvature, accuracy)
    return Ascended(here, now.error, now.tolerance, curvature)


def _assess(over: ConvexSet, here: Local, curvature: Curvature, accuracy: float) -> _Assessment:
    """The error at a point, and what is small compared with the sizes that the function takes on the set."""
    if over.is_bounded:
        gap = linear_gap(over, here)
        error, reach = float(gap.bound), float((over.support(here.gradient) - here.point).double().norm())
        noise, magnitude = float(rounding(here, gap)), float(gap.magnitude)
    else:
        g, y = _flat(here.gradient), _flat(here.point)
        d = _target(over, here, curvature) - y
        error = max(0.0, float(g @ d - 0.5 * d @ curvature.model @ d))
        # Nothing bounds a function with upward or no curvature on an unbounded set.
        error = error if error == 0.0 or (curvature.is_concave and curvature.size > 0.0) else math.inf
        reach, magnitude = 1.0 + float(y.norm()), float((g.abs() * (y.abs() + d.abs())).sum())
        noise = 4.0 * torch.finfo(here.point.dtype).eps * (abs(float(here.value)) + magnitude)
    scale = abs(float(here.value)) + magnitude + curvature.size * reach**2
    return _Assessment(error, max(accuracy * scale, noise), noise)


def _search(
    f: InnerFunction, over: ConvexSet, here: Local, curvature: Curvature, now: _Assessment, *, halvings: int
) -> Local | None:
    """Backtrack along the step to the model's maximum until the value is better; the error, where values are noise."""
    y = _flat(here.point)
    d = _target(over, here, curvature) - y
    slope = float(_flat(here.gradient) @ d)
    length = 1.0
    for _ in range(1 + halvings):
        ahead = f.local(over.project((y + length * d).reshape(here.point.shape).to(here.point)))
        if _is_finite(ahead):
            gain = float(ahead.value - here.value)
            if gain >= 1e-4 * length * slope:
                return ahead
            if gain >= -now.noise and _assess(over, ahead, curvature, 0.0).error <= 0.25 * now.error:
                return ahead
        elif bool(torch.isposinf(ahead.value)):
            return ahead
        length *= 0.5
    return None


def _target(over: ConvexSet, here: Local, curvature: Curvature) -> Tensor:
    """The maximiser of the model, flat; for a linear function that of its direction."""
    g, y = _flat(here.gradient), _flat(here.point)
    if curvature.size == 0.0:
        return _flat(over.support(here.gradient)) if over.is_bounded else y + g
    return maximise_quadratic(g, curvature.model, over, y)


def _curvature(f: InnerFunction, here: Local) -> Curvature | None:
    hessian = f.hessian(here.point)
    return None if hessian is None else Curvature.of(hessian)


def _flat(v: Tensor) -> Tensor:
    return v.flatten().to("cpu", torch.float64)


def _is_finite(here: Local) -> bool:
    return bool(here.value.isfinite() & here.gradient.isfinite().all())
