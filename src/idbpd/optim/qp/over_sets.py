"""The maximum of a concave quadratic with few variables over a set, exactly, in float64 on the host.

Maximise ``g.d - d.A d / 2`` over the d with ``y + d`` in the set, A symmetric and positive definite. This is the
model that Newton's method maximises at each step; on a quadratic function it is the function itself, and one step is
exact.
"""

import torch
from torch import Tensor

from idbpd.optim.qp.active_set import minimise_on_orthant
from idbpd.optim.sets import Ball, Box, ConvexSet, Polyhedron, Simplex, Space


def is_supported(over: ConvexSet) -> bool:
    """Whether the exact maximum over this kind of set is known."""
    return isinstance(over, (Ball, Box, Polyhedron, Simplex, Space))


def maximise_quadratic(gradient: Tensor, curvature: Tensor, over: ConvexSet, y: Tensor) -> Tensor:
    """The maximising point, flat. ``gradient`` (n,), ``curvature`` (n, n) and ``y`` (n,), in the set, are float64."""
    match over:
        case Space():
            return y + _solve(curvature, gradient)
        case Ball():
            return _over_ball(gradient, curvature, over, y)
        case Box():
            low, high = over.low.flatten().to(y), over.high.flatten().to(y)
            return _active_set(gradient, curvature, y, low, high, fixed_sum=False)
        case Simplex():
            zero = torch.zeros_like(y)
            return _active_set(gradient, curvature, y, zero, torch.full_like(y, torch.inf), fixed_sum=True)
        case Polyhedron():
            return _over_polyhedron(gradient, curvature, over, y)
        case _:
            raise TypeError(f"no exact quadratic maximum is known over {type(over).__name__}")


def _active_set(g: Tensor, A: Tensor, y: Tensor, low: Tensor, high: Tensor, *, fixed_sum: bool) -> Tensor:
    """A primal active-set method for bounds, and the sum kept where ``fixed_sum``: finite, as the model is strictly
    concave.

    It starts from the projected gradient step, which has found most of the active bounds already.
    """
    n = y.numel()
    step = 1.0 / torch.linalg.matrix_norm(A, 2)
    z = Simplex(n).project(y + step * g) if fixed_sum else (y + step * g).clamp(min=low, max=high)
    at_low, at_high = z <= low, z >= high
    for _ in range(20 * n):  # far beyond what it needs; a bound against cycling on degenerate models
        free = (~(at_low | at_high)).nonzero().flatten()
        residual = g - A @ (z - y)
        p, nu = _face_step(A, residual, free, fixed_sum)
        room = torch.where(p < 0.0, low[free] - z[free], high[free] - z[free]) / torch.where(p == 0.0, torch.inf, p)
        room = torch.where(p == 0.0, torch.inf, room)
        blocking = int(room.argmin()) if free.numel() else -1
        length = min(1.0, float(room[blocking])) if free.numel() else 1.0
        z = z.index_add(0, free, length * p)
        if length < 1.0:
            i = int(free[blocking])
            side = at_low if float(p[blocking]) < 0.0 else at_high
            side[i] = True
            z[i] = low[i] if float(p[blocking]) < 0.0 else high[i]
            continue
        push = g - A @ (z - y) - nu
        wrong = torch.where(at_low, push, torch.where(at_high, -push, -torch.inf))
        worst = int(wrong.argmax())
        if float(wrong[worst]) <= 1e-14 * float(g.abs().max() + A.abs().max()):
            break
        at_low[worst] = at_high[worst] = False
    return z


def _face_step(A: Tensor, residual: Tensor, free: Tensor, fixed_sum: bool) -> tuple[Tensor, float]:
    """The Newton step within the free coordinates, and the multiplier of the sum."""
    if free.numel() == 0:
        return residual[free], 0.0
    block, r = A[free][:, free], residual[free]
    if not fixed_sum:
        return _solve(block, r), 0.0
    solved = _solve(block, torch.stack([r, torch.ones_like(r)], dim=1))
    nu = solved[:, 0].sum() / solved[:, 1].sum()
    return solved[:, 0] - nu * solved[:, 1], float(nu)


def _solve(A: Tensor, b: Tensor) -> Tensor:
    solution: Tensor = torch.linalg.solve(A, b)
    return solution


def _over_polyhedron(g: Tensor, A: Tensor, over: Polyhedron, y: Tensor) -> Tensor:
    """By the dual: one price per inequality."""
    rows, limits = over.rows.to(y), over.limits.to(y)
    best = y + _solve(A, g)
    moved = _solve(A, rows.T)
    prices = minimise_on_orthant(rows @ moved, limits - rows @ best)
    return over.project(best - moved @ prices)


def _over_ball(g: Tensor, A: Tensor, ball: Ball, y: Tensor) -> Tensor:
    """The trust-region problem: ``(A + mu I) z = b`` with ``||z|| = R``, or with mu = 0 inside."""
    center = ball.center.flatten().to(y)
    b = g + A @ (y - center)
    values, vectors = torch.linalg.eigh(A)
    a: Tensor = vectors.T @ b
    if float((a / values).norm()) <= ball.radius:
        inside: Tensor = center + vectors @ (a / values)
        return inside
    mu = torch.zeros((), dtype=y.dtype)
    # 1/||z|| is concave in mu, so Newton's method climbs to the root of 1/||z|| = 1/R from the left and cannot pass it.
    for _ in range(60):
        z = a / (values + mu)
        length = z.norm()
        step = (length / ball.radius - 1.0) * length.square() / (z.square() / (values + mu)).sum()
        mu = mu + step
        if float(step) <= 1e-16 * float(mu):
            break
    z = a / (values + mu)
    on_sphere: Tensor = center + vectors @ (z * (ball.radius / z.norm()))
    return on_sphere
