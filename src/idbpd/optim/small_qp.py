"""The small convex quadratic programs in c unknowns (one per constraint) behind every direction and every certificate, solved exactly.

Solved in float64 on the host by an active-set method in the manner of Lawson and Hanson: variables enter the free set one at a time
where the reduced gradient is most negative, and leave it where the line to the free minimiser meets their bound. A variable whose
column depends on the free ones has no negative reduced gradient, so duplicated constraints do no harm.
"""

import math

import torch
from torch import Tensor

_EPS = torch.finfo(torch.float64).eps


def minimise_on_orthant(quadratic: Tensor, linear: Tensor, budget: float = math.inf) -> Tensor:
    """Argmin of 1/2 z'Qz + b'z over z >= 0 with sum z <= ``budget``, for positive semidefinite Q.

    With an infinite budget the program must be bounded below (no z >= 0 with Qz = 0 and b'z < 0).
    """
    n = linear.numel()
    if n == 1:
        return linear.new_full((1,), _minimise_one(float(quadratic), float(linear), budget))
    # Constraints of very different size are brought to a common one, or the tolerance below would mean nothing for some.
    size = quadratic.diagonal().clamp(min=0).sqrt()
    size = torch.where(size > 0, size, size.amax() if float(size.amax()) > 0 else torch.ones_like(size))
    Q, b, weight = quadratic / torch.outer(size, size), linear / size, 1 / size
    # The ridge only matters where there is no curvature: there the step becomes long enough to meet a bound.
    Q = Q + 64 * _EPS * torch.eye(n, dtype=Q.dtype)
    z = torch.zeros_like(b)
    free: list[int] = []
    binding = False  # whether the budget is used up
    for _ in range(10 * n + 10):
        slope = Q @ z + b
        price = 0.0
        if binding:
            price = float(-(weight[free] @ slope[free]) / (weight[free] @ weight[free])) if free else math.inf
        reduced = slope + price * weight
        threshold = 100 * _EPS * float(((Q.abs() @ z) + b.abs() + abs(price) * weight).amax())
        reduced[free] = torch.inf
        entering = int(reduced.argmin())
        if binding and price < -threshold:
            binding = False  # the objective gains by leaving budget unused
        elif float(reduced[entering]) < -threshold:
            free.append(entering)
        else:
            break
        z, binding = _minimise_free(Q, b, weight, z, free, binding, budget)
    return z * weight


def _minimise_one(q: float, b: float, budget: float) -> float:
    """The closed form for one unknown. Without curvature the program is linear: all or nothing."""
    if q > 0:
        return min(max(-b / q, 0.0), budget)
    return budget if b < 0 else 0.0


def _minimise_free(
    Q: Tensor, b: Tensor, weight: Tensor, z: Tensor, free: list[int], binding: bool, budget: float
) -> tuple[Tensor, bool]:
    """Go to the minimiser over the free variables, dropping those that meet their bound on the way (``free`` is changed)."""
    while free:
        target = torch.zeros_like(z)
        target[free] = _free_minimiser(Q[free][:, free], b[free], weight[free], budget if binding else None)
        way = target - z
        ratio, leaving = 1.0, -1
        for i in free:
            if float(target[i]) < 0 and float(z[i] / -way[i]) <= ratio:
                ratio, leaving = float(z[i] / -way[i]), i
        spent, spending = float(weight @ z), float(weight @ way)
        if not binding and spent + ratio * spending > budget:
            binding = True
            ratio, leaving = max(0.0, (budget - spent) / spending), -1
            z = z + ratio * way
            continue
        z = (z + ratio * way).clamp(min=0)
        if leaving < 0:
            return z, binding
        z[leaving] = 0
        free.remove(leaving)
    return torch.zeros_like(z), False


def _free_minimiser(Q: Tensor, b: Tensor, weight: Tensor, total: float | None) -> Tensor:
    """Argmin of 1/2 z'Qz + b'z, with weight'z = ``total`` when given."""
    if total is None:
        free: Tensor = torch.linalg.solve(Q, -b)
        return free
    solved: Tensor = torch.linalg.solve(Q, torch.stack([-b, weight], dim=1))
    z, along = solved[:, 0], solved[:, 1]
    return z + along * ((total - float(weight @ z)) / float(weight @ along))
