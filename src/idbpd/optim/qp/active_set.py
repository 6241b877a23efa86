"""The small convex quadratic programs behind every direction and every certificate, in one unknown per worst case.

Solved exactly, in float64 on the host, by an active-set method in the manner of Lawson and Hanson: an unknown enters
the free set where its reduced gradient is most negative, and leaves it where the line to the free minimiser meets zero.
An unknown whose column depends on the free ones has no negative reduced gradient, so duplicated constraints do no harm.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number
from idbpd.optim.qp.few_unknowns import MOST_UNKNOWNS, Matrix, minimise_few, ridge

_EPS = torch.finfo(torch.float64).eps


class Group(NamedTuple):
    """Unknowns that share a sum: non-negative, and together ``total``; at an infinite total, non-negative only."""

    members: Sequence[int]
    total: float


def minimise_on_orthant(quadratic: Tensor, linear: Tensor, budget: float = math.inf) -> Tensor:
    """The minimiser of 1/2 z'Qz + b'z over z >= 0 with sum z <= ``budget``, for positive semidefinite Q.

    With an infinite budget the program must be bounded below (no z >= 0 with Qz = 0 and b'z < 0).
    """
    n = linear.numel()
    if n < MOST_UNKNOWNS:
        return linear.new_tensor(few_on_orthant(quadratic.tolist(), linear.tolist(), budget))
    if math.isinf(budget):
        return minimise_on_simplices(quadratic, linear, [Group(range(n), math.inf)])
    # One more unknown takes the part of the budget that is not spent.
    padded = torch.zeros((n + 1, n + 1), dtype=torch.float64)
    padded[:n, :n] = quadratic
    return minimise_on_simplices(padded, torch.cat([linear, linear.new_zeros(1)]), [Group(range(n + 1), budget)])[:n]


def few_on_orthant(quadratic: Matrix, linear: Sequence[float], budget: float) -> list[float]:
    """The same in numbers."""
    n = len(linear)
    if n == 0:
        return []
    if n == 1:
        return [_minimise_one(quadratic[0][0], linear[0], budget)]
    if math.isinf(budget):
        return minimise_few(quadratic, linear, [Group(range(n), math.inf)])
    padded = [[*row, 0.0] for row in quadratic] + [[0.0] * (n + 1)]
    return minimise_few(padded, [*linear, 0.0], [Group(range(n + 1), budget)])[:n]


def minimise_signed(quadratic: Tensor, linear: Tensor, signed: int, budget: float = math.inf) -> Tensor:
    """As `minimise_on_orthant`, but the last ``signed`` unknowns may have either sign; their sizes count in the sum."""
    if signed == 0:
        return minimise_on_orthant(quadratic, linear, budget)
    Q, b = mirrored(quadratic, linear, signed)
    return merged(minimise_on_orthant(Q, b, budget), signed)


def mirrored(quadratic: Tensor, linear: Tensor, signed: int) -> tuple[Tensor, Tensor]:
    """The program with the last ``signed`` unknowns as differences of two non-negative ones, the second ones at the
    end. A second one has no negative reduced gradient while the first is free: never are both positive.
    """
    n = linear.numel()
    places = [*range(n), *range(n - signed, n)]
    signs = linear.new_ones(n + signed)
    signs[n:] = -1.0
    return quadratic[places][:, places] * torch.outer(signs, signs), linear[places] * signs


def merged(z: Tensor, signed: int) -> Tensor:
    """The unknowns of a mirrored program as they were."""
    n = z.numel() - signed
    return torch.cat([z[: n - signed], z[n - signed : n] - z[n:]])


def _minimise_one(q: float, b: float, budget: float) -> float:
    """The closed form for one unknown. Without curvature the program is linear: all or nothing."""
    if q > 0:
        return min(max(-b / q, 0.0), budget)
    return budget if b < 0 else 0.0


def minimise_on_simplices(quadratic: Tensor, linear: Tensor, groups: Sequence[Group]) -> Tensor:
    """The minimiser of 1/2 z'Qz + b'z over the groups, for positive semidefinite Q; every unknown is in one group.

    Over groups with an infinite total the program must be bounded below.
    """
    if linear.numel() <= MOST_UNKNOWNS:
        return linear.new_tensor(minimise_few(quadratic.tolist(), linear.tolist(), groups))
    finite = [group for group in groups if math.isfinite(group.total)]
    ridged = quadratic + torch.diag(linear.new_tensor(ridge(quadratic.diagonal().tolist(), linear.tolist(), finite)))
    # Unknowns are brought to a common size, or one threshold would mean nothing for some of them.
    size = ridged.diagonal().clamp(min=0).sqrt()
    size = torch.where(size > 0, size, 1.0)
    Q, b = ridged / torch.outer(size, size), linear / size
    sums = torch.zeros((len(finite), linear.numel()), dtype=torch.float64)
    z = torch.zeros_like(linear)
    free: list[int] = []
    for row, (members, total) in zip(sums, finite, strict=True):
        row[list(members)] = 1 / size[list(members)]
        first = members[index(linear[list(members)].argmin())]
        z[first] = total * size[first]
        free.append(first)
    for _ in range(10 * linear.numel() + 10):
        z = _minimise_free(Q, b, sums, z, free)
        entering = _entering(Q, b, sums, z, free)
        if entering is None:
            break
        free.append(entering)
    return z / size


def _entering(Q: Tensor, b: Tensor, sums: Tensor, z: Tensor, free: list[int]) -> int | None:
    """The unknown to free next; None at the minimum."""
    slope = Q @ z + b
    # In each group the free unknowns share one slope: the price of the sum.
    held = sums[:, free]
    prices = -(held @ slope[free]) / held.square().sum(1)
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
