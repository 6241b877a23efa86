"""The maximum of any quadratic over a ball, concave or not: the trust-region problem, solved by eigenvalues."""

import torch
from torch import Tensor


def maximise_over_ball(gradient: Tensor, hessian: Tensor, radius: float) -> Tensor:
    """The z with ||z|| <= radius that maximises ``g.z + z.H z / 2``; float64 on the host.

    It solves (mu I - H) z = g with mu at least the largest eigenvalue of H and zero, and ||z|| = radius or mu = 0. In
    the hard case, where g has no part along the largest eigenvalue, a multiple of its eigenvector is added.
    """
    values, vectors = torch.linalg.eigh(hessian)
    a = vectors.T @ gradient
    top = float(values[-1])
    size = max(float(values.abs().amax()), float(a.norm()) / radius, 1e-300)
    if top < -1e-14 * size:
        z = a / -values
        if float(z.norm()) <= radius:
            return vectors @ z
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
        return vectors @ z
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
    return vectors @ (z * (radius / z.norm()))
