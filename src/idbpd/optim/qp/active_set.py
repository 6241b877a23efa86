"""The small convex quadratic programs in c unknowns, one per constraint, behind every direction and every certificate.

Solved exactly, in float64 on the host, by an active-set method in the manner of Lawson and Hanson: variables enter the
free set one at a time where the reduced gradient is most negative, and leave it where the line to the free minimiser
meets their bound. A variable whose column depends on the free ones has no negative reduced gradient, so duplicated
constraints do no harm.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number

_EPS = torch.finfo(torch.float64).eps


class _Program(NamedTuple):
    """min 1/2 z'Qz + b'z over z >= 0 with weight'z <= budget."""

    Q: Tensor
    b: Tensor
    weight: Tensor
    budget: float


def minimise_on_orthant(quadratic: Tensor, linear: Tensor, budget: float = math.inf) -> Tensor:
    """The minimiser of 1/2 z'Qz + b'z over z >= 0 with sum z <= ``budget``, for positive semidefinite Q.

    With an infinite budget the program must be bounded below (no z >= 0 with Qz = 0 and b'z < 0).
    """
    n = linear.numel()
    if n == 1:
        return linear.new_full((1,), _minimise_one(number(quadratic), number(linear), budget))
    # Constraints of very different size are brought to a common one, or the threshold would mean nothing for some.
    size = quadratic.diagonal().clamp(min=0).sqrt()
    largest = number(size.amax())
    size = torch.where(size > 0, size, largest if largest > 0 else 1.0)
    # The ridge only matters where there is no curvature: there the step becomes long enough to meet a bound.
    scaled = quadratic / torch.outer(size, size) + 64 * _EPS * torch.eye(n, dtype=torch.float64)
    program = _Program(scaled, linear / size, 1 / size, budget)
    z = torch.zeros_like(linear)
    free: list[int] = []
    binding = False  # whether the budget is used up
    for _ in range(10 * n + 10):
        entering = _entering(program, z, free, binding)
        if entering is None:
            break
        if entering < 0:
            binding = False
        else:
            free.append(entering)
        z, binding = _minimise_free(program, z, free, binding)
    return z / size


def _minimise_one(q: float, b: float, budget: float) -> float:
    """The closed form for one unknown. Without curvature the program is linear: all or nothing."""
    if q > 0:
        return min(max(-b / q, 0.0), budget)
    return budget if b < 0 else 0.0


def _entering(program: _Program, z: Tensor, free: list[int], binding: bool) -> int | None:
    """The variable to free next, -1 to free the budget, None at the minimum."""
    Q, b, weight, _ = program
    slope = Q @ z + b
    price = number(-(weight[free] @ slope[free]) / (weight[free] @ weight[free])) if binding else 0.0
    reduced = slope + price * weight
    threshold = 100 * _EPS * number((Q.abs() @ z + b.abs() + abs(price) * weight).amax())
    if price < -threshold:
        return -1  # the objective gains by leaving budget unused
    reduced[free] = torch.inf
    lowest = index(reduced.argmin())
    return lowest if number(reduced[lowest]) < -threshold else None


def _minimise_free(program: _Program, z: Tensor, free: list[int], binding: bool) -> tuple[Tensor, bool]:
    """The minimiser over the free variables; those that meet their bound on the way leave ``free``."""
    Q, b, weight, budget = program
    while free:
        chosen = torch.tensor(free)
        target = torch.zeros_like(z)
        target[chosen] = _free_minimiser(Q[chosen][:, chosen], b[chosen], weight[chosen], budget if binding else None)
        way = target - z
        # The first of the variables that would become negative to meet its bound.
        ratios = torch.where(target[chosen] < 0, z[chosen] / -way[chosen], torch.inf)
        first = index(ratios.argmin())
        ratio, leaving = (number(ratios[first]), free[first]) if number(ratios[first]) <= 1 else (1.0, -1)
        spent, spending = number(weight @ z), number(weight @ way)
        if not binding and spent + ratio * spending > budget:
            binding = True
            z = z + max(0.0, (budget - spent) / spending) * way
            continue
        z = (z + ratio * way).clamp(min=0)
        if leaving < 0:
            return z, binding
        z[leaving] = 0
        free.remove(leaving)
    return torch.zeros_like(z), False


def _free_minimiser(Q: Tensor, b: Tensor, weight: Tensor, total: float | None) -> Tensor:
    """The minimiser of 1/2 z'Qz + b'z, with weight'z = ``total`` when given."""
    if total is None:
        free: Tensor = torch.linalg.solve(Q, -b)
        return free
    # One bordered system: with the sum held, Q itself may be singular.
    m = b.numel()
    system = torch.zeros((m + 1, m + 1), dtype=torch.float64)
    system[:m, :m] = Q
    system[:m, m] = system[m, :m] = weight
    right = torch.cat([-b, b.new_full((1,), total)])
    solved: Tensor = torch.linalg.solve(system, right)
    # A small budget against large slopes cancels: the second solve gives back the digits that the first one lost.
    solved = solved + torch.linalg.solve(system, right - system @ solved)
    return solved[:m]
