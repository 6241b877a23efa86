"""The maximum of any quadratic over a ball, concave or not: the trust-region problem, solved by eigenvalues."""

import torch
from torch import Tensor

from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.sets import Ball

_MOST_VARIABLES = 500  # of a Hessian: its eigenvalues take 0.03 s


def over_ball(f: InnerFunction, ball: Ball, start: Tensor) -> Maximum | None:
    """The maximum of a function known to be a quadratic; None where its Hessian cannot be had."""
    if start.numel() > _MOST_VARIABLES:
        return None
    here, hessian = f.second_order(start)
    if hessian is None or not bool(hessian.isfinite().all()) or not bool(here.gradient.isfinite().all()):
        return None
    center = ball.center.to(start)
    offset = (start - center).flatten().double()
    g = here.gradient.flatten().double() - hessian @ offset
    z = maximise_over_ball(g.cpu(), hessian.cpu(), ball.radius).to(start.device)
    point = ball.project(center + z.to(start).reshape(center.shape))
    value = f.value(point)
    if not bool(value >= here.value):
        point, value = start, here.value
    size = value.abs() + hessian.abs().sum(1).amax() * ball.radius**2
    return Maximum(point, value, 8.0 * torch.finfo(start.dtype).eps * size)


def maximise_over_ball(gradient: Tensor, hessian: Tensor, radius: float) -> Tensor:
    """The z with ||z|| <= radius that maximises ``g.z + z.H z / 2``; float64 on the host.

    It solves (mu I - H) z = g with mu at least the largest eigenvalue of H and zero, and ||z|| = radius or mu = 0. In
    the hard case, where g has no part along the largest eigenvalue, a multiple of its eigenvector is added.
    """
    values, vectors = torch.linalg.eigh(hessian)
    z: Tensor = vectors @ _in_eigenvectors(vectors.T @ gradient, values, radius)
    return z


def _in_eigenvectors(a: Tensor, values: Tensor, radius: float) -> Tensor:
    """The same where the Hessian is diagonal, with ``values`` in rising order."""
    top = float(values[-1])
    size = max(float(values.abs().amax()), float(a.norm()) / radius, 1e-300)
    if top < -1e-14 * size:
        z: Tensor = a / -values
        if float(z.norm()) <= radius:
            return z
    least = max(top, 0.0)

    def length(mu: float) -> float:
        return float((a / (mu - values)).norm())

    # From the least mu on, the length falls from infinity, or from something finite in the hard case.
    low, high = least, least + float(a.norm()) / radius + 1e-300
    start = low + 1e-14 * size
    if length(start) <= radius:
        is_top = values >= top - 1e-12 * size
        z = torch.where(is_top, 0.0, a / torch.where(is_top, 1.0, start - values))
        if top >= -1e-14 * size:
            along = max(radius**2 - float(z.square().sum()), 0.0) ** 0.5
            first = int(is_top.to(torch.int64).argmax())
            z[first] += along if float(a[first]) >= 0 else -along
        return z
    low = start
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if length(middle) > radius:
            low = middle
        else:
            high = middle
    z = a / (high - values)
    on_sphere: Tensor = z * (radius / z.norm())
    return on_sphere
