"""The inner maximum where it can be had exactly, without a look at its numbers: nothing waits for a device.

- Few variables over a simplex, a box or all of R^n: the function is taken for a concave quadratic, and the quadratic is
  maximised over the set. That the function *is* one is checked at a point far away, and the answer by its gap.
- Otherwise the Hessian is taken for ``-c I``: the answer is one projection or, for c = 0, one linear maximisation.

Whether the answer is right is not known on the host before somebody reads its error: it is infinite where it could not
be shown.
"""

import torch
from torch import Tensor

from idbpd.optim.active_bounds import Bounds, bounds_of, maximise_within
from idbpd.optim.convex_set import ConvexSet
from idbpd.optim.inner_function import InnerFunction, Local, Maximum
from idbpd.optim.optimality_gap import Gap, curved_gap, linear_gap, rounding

SMALL = 50  # up to here the whole Hessian is looked at
_FLAT = 64.0  # roundings of the largest curvature below which a direction has none


def exact_maximum(f: InnerFunction, over: ConvexSet, start: Tensor, accuracy: float = 1e-12) -> Maximum:
    """The maximum of a concave quadratic over a set, from a point of it; with an infinite error where ``f`` is not one,
    or its maximum was missed.
    """
    bounds = bounds_of(over, start) if start.numel() <= SMALL else None
    if bounds is not None:
        return _within_bounds(f, over, bounds, start, accuracy)
    return _by_projection(f, over, start, accuracy)


def _within_bounds(f: InnerFunction, over: ConvexSet, bounds: Bounds, start: Tensor, accuracy: float) -> Maximum:
    here, hessian = f.second_order(start)
    if hessian is None:
        return _unknown(here)
    A = -hessian
    size = A.abs().sum(dim=1).amax()
    has_curvature = size > 0.0
    # A direction without curvature gets a trace of it, or the quadratic would have no one maximiser.
    least = _FLAT * torch.finfo(start.dtype).eps * size
    trace = torch.where(has_curvature, least, 1.0) * torch.diag(torch.ones_like(A[0]))
    A, lifted = torch.where(_is_definite(A - trace), A, A + trace), A + trace
    is_concave = _is_definite(lifted)
    y, g = start.flatten().double(), here.gradient.flatten().double()
    target = maximise_within(bounds, g, A, y)
    if over.is_bounded:
        # A linear function: the start, if it is a maximiser already, so that equal ones do not take turns.
        left, corner = linear_gap(over, here), over.support(here.gradient).flatten().double()
        is_better = left.bound > accuracy * (here.value.abs() + left.magnitude)
        target = torch.where(has_curvature, target, torch.where(is_better, corner, y))
    target = torch.where(target.isfinite().all(), target, y)
    there = f.local(over.project(target.to(start).reshape(start.shape)))
    gap = linear_gap(over, there) if over.is_bounded else _gap_within(bounds, there, A)
    tolerance = _tolerance(over, there, gap, size, accuracy)
    is_as_taken = is_concave & is_quadratic(f, over, there, hessian)
    return _shown(here, there, gap, tolerance, is_as_taken)


def _by_projection(f: InnerFunction, over: ConvexSet, start: Tensor, accuracy: float) -> Maximum:
    here = f.local(start)
    v = _unstructured(start)
    products = f.curvatures(start, [v])
    if products is None:
        return _unknown(here)
    hv, v = products[0].double(), v.double()
    c = -(hv * v).sum() / v.square().sum()
    is_sphere = (c >= 0.0) & ((hv + c * v).norm() <= 100.0 * torch.finfo(start.dtype).eps * c * v.norm())
    divisor = torch.where(c > 0.0, c, 1.0)
    point = over.project(start + here.gradient / divisor.to(start))
    if over.is_bounded:
        point = torch.where(c > 0.0, point, over.support(here.gradient))
    else:
        is_sphere = is_sphere & (c > 0.0)
    point = torch.where(point.isfinite().all(), point, start)
    there = f.local(point)
    gap = linear_gap(over, there) if over.is_bounded else curved_gap(over, there, divisor)
    # The gradient is the difference of a constant and c y: it is known to a rounding of either.
    tolerance = accuracy * (there.value.abs() + gap.magnitude) + rounding(there, gap)
    tolerance = tolerance + 8.0 * torch.finfo(start.dtype).eps * c * point.abs().amax().double()
    if start.numel() <= SMALL:
        hessian = -c * torch.eye(start.numel(), dtype=torch.float64, device=start.device)
        is_sphere = is_sphere & is_quadratic(f, over, there, hessian)
    return _shown(here, there, gap, tolerance, is_sphere)


def _is_definite(matrix: Tensor) -> Tensor:
    info: Tensor = torch.linalg.cholesky_ex(matrix)[1]
    return info == 0


def _gap_within(bounds: Bounds, there: Local, A: Tensor) -> Gap:
    """By how much the quadratic is higher at its maximum than ``there``: the gap on a set without an end."""
    y, g = there.point.flatten().double(), there.gradient.flatten().double()
    d = maximise_within(bounds, g, A, y) - y
    bound = (g @ d - 0.5 * d @ (A @ d)).clamp(min=0.0)
    return Gap(bound, (g.abs() * (y.abs() + d.abs())).sum(), d.square().sum())


def _tolerance(over: ConvexSet, there: Local, gap: Gap, size: Tensor, accuracy: float) -> Tensor:
    """The gap that is none: against the sizes that the function takes, and its rounding."""
    if over.is_bounded:
        scale = there.value.abs() + gap.magnitude + size * gap.reach
        return torch.maximum(accuracy * scale, rounding(there, gap))
    # The rise of the model is quadratic in the distance to the maximiser, the other gap linear: so the square is asked
    # for.
    reach = 1.0 + there.point.double().square().sum()
    scale = there.value.abs() + gap.magnitude + size * reach
    eps = torch.finfo(there.point.dtype).eps
    return torch.maximum(accuracy**2 * scale, 0.5 * size * reach * (8.0 * eps) ** 2)


def is_quadratic(f: InnerFunction, over: ConvexSet, there: Local, hessian: Tensor) -> Tensor:
    """Whether the function's quadratic model gives its value at a point far away."""
    point = _far_point(over, there.point)
    d = (point.double() - there.point.double()).flatten()
    linear = there.gradient.flatten().double() @ d
    bent = 0.5 * d @ (hessian @ d)
    size = there.value.abs() + linear.abs() + bent.abs()
    small = torch.finfo(point.dtype).eps ** 0.7  # 1e-11 in float64, 1e-5 in float32
    missed: Tensor = (f.value(point) - there.value - linear - bent).abs()
    is_near: Tensor = missed <= small * size
    return is_near


def _far_point(over: ConvexSet, point: Tensor) -> Tensor:
    """A point of the set far from ``point``, in no special position."""
    v = _unstructured(point)
    if not over.is_bounded:
        return over.project(point + (1.0 + point.abs()) * v)
    centre = over.centre(point)
    one, other = (centre + 0.7 * (over.support(side) - centre) for side in (v, -v))
    return torch.where((one - point).square().sum() > (other - point).square().sum(), one, other)


def _unstructured(like: Tensor) -> Tensor:
    """A direction that no function has a symmetry about."""
    k = torch.arange(1, like.numel() + 1, dtype=like.dtype, device=like.device)
    return torch.cos(1.7 * k * k + 0.3).reshape(like.shape)


def _shown(here: Local, there: Local, gap: Gap, tolerance: Tensor, is_as_taken: Tensor) -> Maximum:
    """The answer ``there``, with its gap as the error if all that it rests on is true."""
    is_better = (there.value >= here.value - tolerance) & there.value.isfinite()
    is_right = is_as_taken & is_better & (gap.bound <= tolerance)
    return Maximum(there.point, there.value, torch.where(is_right, gap.bound, torch.inf))


def _unknown(here: Local) -> Maximum:
    return Maximum(here.point, here.value, torch.full_like(here.value, torch.inf))
