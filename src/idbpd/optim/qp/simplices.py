"""Convex quadratic programs over a product of simplices: the weights of several worst cases per term.

Solved exactly, in float64 on the host, by the same active-set method as `small_qp`, with one sum held per group of
unknowns.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number

_EPS = torch.finfo(torch.float64).eps


class Group(NamedTuple):
    """Unknowns that share a sum: non-negative, and together ``total``; at an infinite total, non-negative only."""

    members: Sequence[int]
    total: float


def minimise_on_simplices(quadratic: Tensor, linear: Tensor, groups: Sequence[Group]) -> Tensor:
    """The minimiser of 1/2 z'Qz + b'z over the groups, for positive semidefinite Q; every unknown is in one group.

    Over groups with an infinite total the program must be bounded below.
    """
    # The ridge decides between worst cases that say the same. An unknown without curvature, such as the unused part of
    # a budget, gets none: its size would count.
    Q = quadratic + 64 * _EPS * torch.diag(quadratic.diagonal())
    finite = [group for group in groups if math.isfinite(group.total)]
    sums = torch.zeros((len(finite), linear.numel()), dtype=torch.float64)
    z = torch.zeros_like(linear)
    free: list[int] = []
    for row, (members, total) in zip(sums, finite, strict=True):
        row[list(members)] = 1.0
        first = members[index(linear[list(members)].argmin())]
        z[first] = total
        free.append(first)
    for _ in range(10 * linear.numel() + 10):
        z = _minimise_free(Q, linear, sums, z, free)
        entering = _entering(Q, linear, sums, z, free)
        if entering is None:
            break
        free.append(entering)
    return z


def _entering(Q: Tensor, b: Tensor, sums: Tensor, z: Tensor, free: list[int]) -> int | None:
    """The unknown to free next; None at the minimum."""
    slope = Q @ z + b
    # In each group the free unknowns share one slope: the price of the sum.
    held = sums[:, free]
    prices = -(held @ slope[free]) / held.sum(1)
    reduced = slope + prices @ sums
    threshold = 100 * _EPS * ((Q.abs() @ z + b.abs()) + prices.abs() @ sums)
    reduced = reduced + threshold
    reduced[free] = torch.inf
    lowest = index(reduced.argmin())
    return lowest if number(reduced[lowest]) < 0 else None


def _minimise_free(Q: Tensor, b: Tensor, sums: Tensor, z: Tensor, free: list[int]) -> Tensor:
    """The minimiser over the free unknowns; those that meet zero on the way leave ``free``."""
    while free:
        target = torch.zeros_like(z)
        target[free] = _free_minimiser(Q[free][:, free], b[free], sums[:, free], sums @ z)
        if not bool(target.isfinite().all()):
            free.pop()
            break
        now, way = z[free], target[free] - z[free]
        ratios = torch.where(target[free] < 0, now / -way, torch.inf)
        first = index(ratios.argmin())
        ratio = number(ratios[first])
        if ratio > 1:
            return target
        z = (z + ratio * (target - z)).clamp(min=0)
        z[free[first]] = 0.0
        del free[first]
    return z


def _free_minimiser(Q: Tensor, b: Tensor, sums: Tensor, totals: Tensor) -> Tensor:
    m, k = b.numel(), totals.numel()
    system = torch.zeros((m + k, m + k), dtype=torch.float64)
    system[:m, :m] = Q
    system[:m, m:] = sums.T
    system[m:, :m] = sums
    right = torch.cat([-b, totals])
    solved: Tensor = torch.linalg.solve_ex(system, right)[0]
    # The second solve gives back the digits that cancellation cost the first one.
    solved = solved + torch.linalg.solve_ex(system, right - system @ solved)[0]
    return solved[:m]
