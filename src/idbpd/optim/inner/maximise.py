"""The inner maximum ``max_{v in set} h(v)`` to a stated accuracy, where `exact_maximum` is not exact:

- Few variables (up to `SMALL`) over a simplex, box, ball or all of R^n: Newton's method, with the quadratic model
  maximised exactly over the set, and a search over the set for a higher peak.
- Many variables: first-order ascent.

The error in the result is the Frank-Wolfe gap at the returned point; on unbounded sets, the rise that the curvature
still allows. The gap bounds ``max - value`` for every concave function. For others it certifies a local maximum only,
and the search speaks for the global one: in up to three dimensions a grid, beyond that scattered points and corners,
and none beyond `SMALL`. At a kink the gap does not vanish: there it is a bound, but not a sharp one.
"""

import math

from torch import Tensor

from idbpd.optim.device_reads import read, truth
from idbpd.optim.inner.exact import SMALL, is_quadratic
from idbpd.optim.inner.first_order import spectral_ascent
from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.inner.gap import ACCURACY, rounding
from idbpd.optim.inner.multistart import can_search, promising_starts
from idbpd.optim.inner.newton import Ascended, newton_ascent
from idbpd.optim.qp.over_sets import is_supported
from idbpd.optim.sets.base import ConvexSet

NEWTON_STEPS = 100  # a smooth function takes a few; one with kinks takes all there are, and its error says so
MEDIUM = 500  # up to here Newton's method goes on where first-order ascent has not arrived
RESCUE_STEPS = 15  # of Newton's method there, near the end: it converges quadratically, and each needs a Hessian


def climb(f: InnerFunction, over: ConvexSet, start: Tensor, *, is_concave: bool = False) -> Maximum:
    """The maximum by ascent from ``start``, a point of the set, step by step as the numbers on the way suggest.

    It is never worse than ``start``. A function that is not finite there is returned as it is, with an infinite error.
    """
    if start.numel() <= SMALL and is_supported(over):
        found = newton_ascent(f, over, start, NEWTON_STEPS)
        if found is not None:
            highest = found if is_concave else _highest(f, over, found)
            return _maximum(highest)
    return _first_order(f, over, start)


def _highest(f: InnerFunction, over: ConvexSet, found: Ascended) -> Ascended:
    """Make sure of a local maximum: the function is a concave quadratic, or a search over the set finds no better."""
    here, curvature = found.at.here, found.curvature
    if here is None or not math.isfinite(found.at.value) or not can_search(over):
        return found
    if curvature.is_concave and curvature.hessian is not None:
        (is_its_model,) = read(is_quadratic(f, over, here, curvature.hessian))
        if truth(is_its_model):
            return found
    best = found
    for start in _starts(f, over, here.point, found):
        other = newton_ascent(f, over, start, NEWTON_STEPS)
        if other is not None and other.at.value > best.at.value:
            best = other
    return best


def _maximum(found: Ascended) -> Maximum:
    assert found.at.here is not None
    return Maximum.at(found.at.here, found.quality.error)


def _starts(f: InnerFunction, over: ConvexSet, point: Tensor, found: Ascended) -> list[Tensor]:
    value, margin = found.at.value, found.quality.tolerance
    try:
        return promising_starts(f, over, point, value=value, margin=margin, batched=True)
    except Exception:  # it branches on its argument, say, or reads a number out of it; one by one it may do so
        return promising_starts(f, over, point, value=value, margin=margin, batched=False)


def _first_order(f: InnerFunction, over: ConvexSet, start: Tensor) -> Maximum:
    here = f.local(start)
    if not bool(here.value.isfinite()):
        return Maximum.at(here, math.inf)
    if not bool(here.gradient.isfinite().all()):  # at the edge of the domain, perhaps: a little further in it may be
        inside = f.local(start + 0.1 * (over.centre(start) - start))
        if not bool(inside.value >= here.value) or not bool(inside.gradient.isfinite().all()):
            return Maximum.at(here, math.inf)
        here = inside
    best, gap = spectral_ascent(f, over, here)
    tolerance = ACCURACY * (best.value.abs() + gap.magnitude) + rounding(best, gap)
    if bool(gap.bound > tolerance) and start.numel() <= MEDIUM and is_supported(over):
        found = newton_ascent(f, over, best.point, RESCUE_STEPS)
        if found is not None and found.at.value >= float(best.value - tolerance):
            return _maximum(found)
    return Maximum(best.point, best.value, gap.bound)
