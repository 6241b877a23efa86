"""The inner maximum where it can be had exactly, without a look at its numbers: nothing waits for a device.

- Few variables over a simplex, a box or all of R^n: the function is taken for a concave quadratic, and the quadratic is
  maximised over the set. That the function *is* one is checked at a point far away, and the answer by its gap.
- Otherwise the Hessian is taken for ``-c I``: the answer is one projection or, for c = 0, one linear maximisation.

Whether the answer is right is not known on the host before somebody reads its error: it is infinite where it could not
be shown.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, truth
from idbpd.optim.inner.factors import on_factor, replaced
from idbpd.optim.inner.function import InnerFunction, Local, Maximum
from idbpd.optim.inner.gap import ACCURACY, Gap, curved_gap, linear_gap, rounding
from idbpd.optim.qp.on_device import Bounds, bounds_of, maximise_within
from idbpd.optim.sets import Box, Polyhedron, Product, Simplex
from idbpd.optim.sets.base import ConvexSet

SMALL = 50  # variables up to which the whole Hessian is computed: it takes as many gradients
# Share of the largest curvature below which a direction has none: the rounding of a Hessian with a few dozen columns.
_FLAT = 64.0 * torch.finfo(torch.float64).eps


def exact_maximum(f: InnerFunction, over: ConvexSet, start: Tensor) -> Maximum:
    """The maximum of a concave quadratic from a point of the set; the error is infinite where ``f`` is none."""
    if isinstance(over, Product):
        return _of_factors(f, over, start)
    bounds = bounds_of(over, start) if start.numel() <= SMALL else None
    return _by_projection(f, over, start) if bounds is None else _within_bounds(f, over, bounds, start)


def is_strict_quadratic(f: InnerFunction, over: ConvexSet, point: Tensor) -> Tensor:
    """Whether the function is a quadratic that curves downwards in every direction, and so has one maximiser only."""
    if point.numel() <= SMALL:
        here, hessian = f.second_order(point)
        if hessian is None:
            return torch.zeros_like(here.value, dtype=torch.bool)
        size = hessian.abs().sum(dim=1).amax()
        is_strict = _is_definite(-hessian - _FLAT * size * torch.diag(torch.ones_like(hessian[0]))) & (size > 0.0)
        return is_strict & is_quadratic(f, over, here, hessian)
    found = _sphere(f, point)
    return torch.zeros((), dtype=torch.bool, device=point.device) if found is None else found[1] & (found[0] > 0.0)


def _of_factors(f: InnerFunction, over: Product, start: Tensor) -> Maximum:
    """Factor by factor, for a function without a product of variables of different factors."""
    point, is_exact = start, torch.ones((), dtype=torch.bool, device=start.device)
    for number, factor in enumerate(over.factors):
        inside = over.joined(tuple(torch.full_like(p, float(i == number)) for i, p in enumerate(over.split(start))))
        bends = f.curvatures(point, [_unstructured(start) * inside])
        if bends is None:
            return Maximum.at(f.local(start), torch.inf)
        is_exact = is_exact & (bends[0] * (1 - inside) == 0).all()
        found = exact_maximum(
            InnerFunction(on_factor(f.function, over, point, number)), factor, over.split(point)[number]
        )
        is_exact = is_exact & found.error.isfinite()
        point = replaced(over, point, number, found.point)
    there = f.local(point)
    error = linear_gap(over, there).bound if over.is_bounded else torch.zeros_like(there.value)
    return Maximum(there.point, there.value, torch.where(is_exact, error, torch.inf))


def _within_bounds(f: InnerFunction, over: ConvexSet, bounds: Bounds, start: Tensor) -> Maximum:
    here, hessian = f.second_order(start)
    if hessian is None:
        return Maximum.at(here, torch.inf)
    A = -hessian
    size = A.abs().sum(dim=1).amax()
    # A direction without curvature gets a trace of it, so that the maximiser is unique.
    trace = torch.where(size > 0.0, _FLAT * size, 1.0) * torch.eye(start.numel(), dtype=A.dtype, device=A.device)
    is_definite = _is_definite(A - trace)
    A = torch.where(is_definite, A, A + trace)
    is_concave = _chosen(is_definite, lambda: is_definite, lambda: _is_definite(A))
    y = start.flatten().double()
    target = _chosen(
        size > 0.0,
        lambda: maximise_within(bounds, here.gradient.flatten().double(), A, y),
        lambda: _corner(over, here).flatten().double(),
    )
    target = torch.where(target.isfinite().all(), target, y)
    there = f.local(over.project(target.to(start).reshape(start.shape)))
    if over.is_bounded:
        gap = linear_gap(over, there)
    else:  # there is a maximum only if every direction has curvature
        gap, is_concave = _gap_within(bounds, there, A), is_definite
    tolerance = _tolerance(over, there, gap, size)
    is_as_taken = is_concave & is_quadratic(f, over, there, hessian)
    return _shown(here, there, gap, tolerance, is_as_taken)


def _by_projection(f: InnerFunction, over: ConvexSet, start: Tensor) -> Maximum:
    here, found = f.local(start), _sphere(f, start)
    if found is None:
        return Maximum.at(here, torch.inf)
    c, is_sphere = found
    divisor = torch.where(c > 0.0, c, 1.0)
    point = _chosen(
        c > 0.0,
        lambda: over.project(start + here.gradient / divisor.to(start)),
        lambda: _corner(over, here),
    )
    point = torch.where(point.isfinite().all(), point, start)
    there = f.local(point)
    if over.is_bounded:
        gap = linear_gap(over, there)
    else:
        gap, is_sphere = curved_gap(over, there, divisor), is_sphere & (c > 0.0)
    eps = torch.finfo(start.dtype).eps
    tolerance = (
        ACCURACY * (there.value.abs() + gap.magnitude) + rounding(there, gap) + 8.0 * eps * c * gap.rounding_scale
    )
    if start.numel() <= SMALL:
        hessian = -c * torch.eye(start.numel(), dtype=torch.float64, device=start.device)
        is_sphere = is_sphere & is_quadratic(f, over, there, hessian)
    return _shown(here, there, gap, tolerance, is_sphere)


def _sphere(f: InnerFunction, point: Tensor) -> tuple[Tensor, Tensor] | None:
    """The c with H v = -c v for a direction v without structure, and whether there is one; None without a Hessian."""
    v = _unstructured(point)
    products = f.curvatures(point, [v])
    if products is None:
        return None
    hv, v = products[0].double(), v.double()
    c = -(hv * v).sum() / v.square().sum()
    return c, (c >= 0.0) & ((hv + c * v).norm() <= 100.0 * torch.finfo(point.dtype).eps * c * v.norm())


def _chosen(condition: Tensor, one: Callable[[], Tensor], other: Callable[[], Tensor]) -> Tensor:
    """``one`` where the condition holds, else ``other``; only one of them is computed where a look costs nothing."""
    if is_here(condition):
        return one() if truth(condition) else other()
    return torch.where(condition, one(), other())


def _corner(over: ConvexSet, here: Local) -> Tensor:
    """The maximiser of a linear function. Among corners it is the start, if that is one already, so that equal ones do
    not take turns; on a curved boundary, where values tell too little of a point, there are no equal ones.
    """
    if not over.is_bounded:
        return here.point
    corner = over.support(here.gradient)
    if not isinstance(over, (Box, Polyhedron, Simplex)):
        return corner
    left = linear_gap(over, here)
    return torch.where(left.bound > ACCURACY * (here.value.abs() + left.magnitude), corner, here.point)


def _is_definite(matrix: Tensor) -> Tensor:
    info: Tensor = torch.linalg.cholesky_ex(matrix)[1]
    return info == 0


def _gap_within(bounds: Bounds, there: Local, A: Tensor) -> Gap:
    """By how much the quadratic is higher at its maximum than ``there``: the gap on a set without an end."""
    y, g = there.point.flatten().double(), there.gradient.flatten().double()
    d = maximise_within(bounds, g, A, y) - y
    bound = (g @ d - 0.5 * d @ (A @ d)).clamp(min=0.0)
    return Gap(bound, (g.abs() * (y.abs() + d.abs())).sum(), d.square().sum(), (y * d).abs().sum())


def _tolerance(over: ConvexSet, there: Local, gap: Gap, size: Tensor) -> Tensor:
    """Gap treated as zero: a share of the sizes that the function takes, or rounding. The gradient is the difference of
    a constant and A y, and has the rounding of both.
    """
    eps = torch.finfo(there.point.dtype).eps
    if over.is_bounded:
        scale = there.value.abs() + gap.magnitude + size * gap.reach
        return torch.maximum(ACCURACY * scale, rounding(there, gap) + 8.0 * eps * size * gap.rounding_scale)
    # The rise of the model is quadratic in the distance to the maximiser, the other gap linear: hence the square.
    reach = 1.0 + there.point.double().square().sum()
    scale = there.value.abs() + gap.magnitude + size * reach
    return torch.maximum(ACCURACY**2 * scale, 0.5 * size * reach * (8.0 * eps) ** 2)


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
    """A fixed direction without structure, so that no symmetry of a function hides anything."""
    k = torch.arange(1, like.numel() + 1, dtype=like.dtype, device=like.device)
    return torch.cos(1.7 * k * k + 0.3).reshape(like.shape)


def _shown(here: Local, there: Local, gap: Gap, tolerance: Tensor, is_as_taken: Tensor) -> Maximum:
    """The answer ``there``, with its gap as the error if all that it rests on is true."""
    is_better = (there.value >= here.value - tolerance - rounding(there, gap)) & there.value.isfinite()
    is_right = is_as_taken & is_better & (gap.bound <= tolerance)
    return Maximum(there.point, there.value, torch.where(is_right, gap.bound, torch.inf))
