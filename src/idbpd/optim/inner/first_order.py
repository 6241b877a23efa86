"""First-order ascent for a function of many variables: projected gradient steps of spectral length.

The step length comes from the last difference of gradients (Barzilai and Borwein), the search is non-monotone
(Birgin, Martinez and Raydan): it evaluates points of the set only, one gradient per step as a rule, and needs no
constant of the function.
"""

import math
from collections import deque

import torch

from idbpd.optim.inner.function import InnerFunction, Local
from idbpd.optim.inner.gap import ACCURACY, Gap, curved_gap, linear_gap, rounding
from idbpd.optim.sets.base import ConvexSet

_STEPS = 500  # a smooth function takes tens; what is left is in the error
_MEMORY = 8  # a step must not be worse than the worst of so many values: Birgin, Martinez and Raydan have 10
_HALVINGS = 40  # of a step: 1e-12 of its length
_ENCORE = 30  # further steps at most once the value is good: the point is then known to its square root only
# How many times its size a point may move on an unbounded set before the function is held to be unbounded.
_FAR = 1e8


def spectral_ascent(f: InnerFunction, over: ConvexSet, here: Local) -> tuple[Local, Gap]:
    """Ascend from ``here`` until the bound on the error is a negligible part of the values, or steps run out.

    Returns the point with the smallest gap among those with the best value up to rounding, and that gap.
    """
    eps = torch.finfo(here.point.dtype).eps
    curvature = flattest = float("nan")
    gap = _gap(over, here, flattest)
    best, best_gap = here, gap
    recent: deque[float] = deque([float(here.value)], maxlen=_MEMORY)
    length = _first_length(here)
    far = _FAR * (1.0 + float(here.point.abs().amax()))
    encore = _ENCORE
    for _ in range(_STEPS):
        scale = abs(float(here.value)) + float(gap.magnitude)
        # The bound is quadratic in the distance to a maximiser on a curved boundary or in free space: small as it is,
        # the point may be right to its square root only. So the steps must have become small, too.
        if float(gap.bound) <= max(ACCURACY, 4.0 * eps) * scale:
            step = over.project(here.point + length * here.gradient) - here.point
            if not encore or float(step.norm()) <= max(1e-10, 16.0 * eps) * (1.0 + float(here.point.norm())):
                break
            encore -= 1
        if not over.is_bounded and float(here.point.abs().amax()) > far:
            break
        ahead = _search(f, over, here, length, floor=min(recent) - float(rounding(here, gap)))
        if ahead is None:
            break
        s, change = ahead.point - here.point, here.gradient - ahead.gradient
        curvature = float((s * change).sum() / (s * s).sum())
        # Locally convex or flat: the largest step that still means something.
        length = 1.0 / curvature if curvature > 0.0 else 10.0 * length
        flattest = curvature if math.isnan(flattest) else min(flattest, curvature)
        here, gap = ahead, _gap(over, ahead, flattest)
        recent.append(float(here.value))
        noise = float(rounding(here, gap))
        gain = float(here.value - best.value)
        if gain > noise or (gain >= -noise and bool(gap.bound <= best_gap.bound)):
            best, best_gap = here, gap
    return best, best_gap


def _gap(over: ConvexSet, here: Local, curvature: float) -> Gap:
    """The Frank-Wolfe gap; on an unbounded set the bound for the smallest curvature met, infinite before any was."""
    if over.is_bounded:
        return linear_gap(over, here)
    if curvature > 0.0:
        return curved_gap(over, here, curvature)
    gap = curved_gap(over, here, 1.0)
    return gap._replace(bound=torch.where((here.gradient == 0.0).all(), 0.0, torch.inf).double())


def _first_length(here: Local) -> float:
    """A first step of about the size of the point, or of the set's unit where the point is zero."""
    slope = float(here.gradient.double().norm())
    size = float(here.point.double().norm()) or 1.0
    return size / slope if slope > 0.0 else 1.0


def _search(f: InnerFunction, over: ConvexSet, here: Local, length: float, *, floor: float) -> Local | None:
    """Backtrack along the projected step until the value is not worse than the recent ones."""
    d = over.project(here.point + length * here.gradient) - here.point
    # What <g, d> is at least, as d is a projected step; near the end the inner product itself is rounding.
    slope = float(d.double().square().sum()) / length
    if not slope > 0.0:
        return None
    t = 1.0
    for _ in range(_HALVINGS):
        ahead = f.local(here.point + t * d)
        if float(ahead.value) >= floor + 1e-4 * t * slope and bool(ahead.gradient.isfinite().all()):
            return ahead
        t *= 0.5
    return None
