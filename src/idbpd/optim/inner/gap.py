"""By how much the value at a point can fall short of the maximum."""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.inner.function import Local
from idbpd.optim.sets.base import ConvexSet

# Of an inner maximum, relative to the size of the values. It costs little, as the methods are of second order or exact
# wherever they can be, and is never asked of a dtype beyond its precision.
ACCURACY = 1e-12


class Gap(NamedTuple):
    """A bound on ``max - value``; float64."""

    bound: Tensor
    magnitude: Tensor  # the size of the terms that the bound is a difference of
    reach: Tensor  # the square of the distance to the point where the bound would be attained
    rounding_scale: Tensor  # sum_i |y_i d_i|: times eps, what rounding the point changes along the way d there


def linear_gap(over: ConvexSet, here: Local) -> Gap:
    """The Frank-Wolfe gap ``max_v <g, v - y>``: a true bound for every concave function on a bounded set."""
    g, y = here.gradient.double(), here.point.double()
    s = over.support(here.gradient).double()
    # Summed coordinate by coordinate, where s - y is small: two inner products would cancel.
    d = s - y
    return Gap(
        bound=(g * d).sum().clamp(min=0.0),
        magnitude=(g.abs() * (s.abs() + y.abs())).sum(),
        reach=d.square().sum(),
        rounding_scale=(y * d).abs().sum(),
    )


def curved_gap(over: ConvexSet, here: Local, curvature: Tensor | float) -> Gap:
    """``max_v <g, v - y> - c/2 ||v - y||^2``: the bound for a function of curvature at least c, on any set."""
    g, y = here.gradient.double(), here.point.double()
    d = over.project(y + g / curvature) - y
    reach = d.square().sum()
    return Gap(
        bound=((g * d).sum() - 0.5 * curvature * reach).clamp(min=0.0),
        magnitude=(g.abs() * (d.abs() + y.abs())).sum(),
        reach=reach,
        rounding_scale=(y * d).abs().sum(),
    )


def rounding(here: Local, gap: Gap) -> Tensor:
    """The part of a gap, or of a difference of values, that may be rounding alone."""
    eps = torch.finfo(here.point.dtype).eps
    return 4.0 * eps * (here.value.abs() + gap.magnitude)
