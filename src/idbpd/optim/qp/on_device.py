"""The maximum of a concave quadratic over bounds or a simplex, on the device: nothing waits for its numbers.

Maximise ``g.d - d.A d / 2`` over the d with ``y + d`` in the set, A symmetric and positive definite, by primal-dual
active sets. Solve for the coordinates that are taken to be free; hold those that leave their bounds, free those that a
bound holds back; and again: Newton's method on the optimality conditions. Once nothing changes, the maximum is found.
It may cycle instead, which is rare; the caller has to check. `over_sets` always ends.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, same
from idbpd.optim.sets import Box, Simplex, Space
from idbpd.optim.sets.base import ConvexSet
from idbpd.optim.sets.simplex_projection import project_onto_simplex

_ROUNDS = 12  # random programs with up to 50 unknowns seldom take more than 10


class Bounds(NamedTuple):
    """The points between ``low`` and ``high``, flat; on a simplex, those with the sum one."""

    low: Tensor
    high: Tensor
    is_simplex: bool


def bounds_of(over: ConvexSet, like: Tensor) -> Bounds | None:
    """A set as bounds in float64 on the device of ``like``; None for a set that is curved."""
    zero = torch.zeros(over.dimension, dtype=torch.float64, device=like.device)
    match over:
        case Simplex():
            return Bounds(zero, zero + torch.inf, is_simplex=True)
        case Box():
            return Bounds(over.low.flatten().to(zero), over.high.flatten().to(zero), is_simplex=False)
        case Space():
            return Bounds(zero - torch.inf, zero + torch.inf, is_simplex=False)
        case _:
            return None


def maximise_within(bounds: Bounds, g: Tensor, A: Tensor, y: Tensor) -> Tensor:
    """The maximising point. ``g`` (n,), ``A`` (n, n) and ``y`` (n,), within the bounds, are float64."""
    low, high, is_simplex = bounds
    b = g + A @ y
    size = A.abs().sum(dim=1)
    # A projected step of the length that the curvature allows at least: on a diagonal A in a box, and on c I on a
    # simplex, it is the answer already.
    z = project_onto_simplex(y + g / size.amax()) if is_simplex else (y + g / size).clamp(min=low, max=high)
    at_low, at_high = z <= low, z >= high
    for _ in range(_ROUNDS):
        z, push = _solved(bounds, b, A, at_low, at_high)
        is_held = at_low | at_high
        below = torch.where(is_held, at_low & (push <= 0.0), z < low)
        above = torch.where(is_held, at_high & (push >= 0.0), z > high)
        if is_here(below) and same(below, at_low) and same(above, at_high):
            break  # on a device the remaining rounds change nothing either
        at_low, at_high = below, above
    return z.clamp(min=low, max=high)


def _solved(bounds: Bounds, b: Tensor, A: Tensor, at_low: Tensor, at_high: Tensor) -> tuple[Tensor, Tensor]:
    """The maximiser with some coordinates held at a bound, and where each coordinate is pushed to there."""
    is_free = ~(at_low | at_high)
    zero = torch.zeros_like(b)
    held = torch.where(at_low, bounds.low, torch.where(at_high, bounds.high, zero))
    # A row and a column of the identity for what is held. Cholesky's factor, as other solvers look at numbers.
    system = torch.where(is_free.outer(is_free), A, torch.eye(b.numel(), dtype=b.dtype, device=b.device))
    lower: Tensor = torch.linalg.cholesky_ex(system)[0]
    right = torch.stack([torch.where(is_free, b - A @ held, zero), is_free.to(b)], dim=1)
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    free, ones = torch.linalg.solve_triangular(lower.mT, half, upper=True).unbind(dim=1)
    price = b.new_zeros(())
    if bounds.is_simplex:
        price = (free.sum() + held.sum() - 1.0) / ones.sum()
        free = free - price * ones
    z = torch.where(is_free, free, held)
    return z, b - A @ z - price
