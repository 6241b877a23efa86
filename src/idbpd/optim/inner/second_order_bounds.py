"""How much a function can rise over a box, by intervals for its gradient and its Hessian."""

import math

import torch
from torch import Tensor


def symmetric(flat: Tensor, rows: Tensor, columns: Tensor, n: int) -> Tensor:
    """The matrices, (B, n, n), of which one half is given."""
    full = flat.new_zeros(flat.shape[0], n, n)
    full[:, rows, columns] = flat
    full[:, columns, rows] = flat
    return full


def zero_times(one: Tensor, other: Tensor) -> Tensor:
    """A product in which zero times infinity is zero."""
    return torch.where(other == 0, 0.0, one * other).nan_to_num(0.0, math.inf, -math.inf)


def separable_bounds(H_low: Tensor, H_high: Tensor, width: Tensor, shift: float) -> list[Tensor]:
    """Numbers d with s.H s <= sum d_i s_i^2 for every Hessian in the box, by two ways: by rows, and by eigenvalues."""
    n = width.shape[1]
    eye = torch.eye(n, dtype=torch.bool)
    scale = torch.where(width.isfinite() & (width > 0), width, torch.where(width == 0, 1e-300, 1.0))
    ratio = scale.unsqueeze(1) / scale.unsqueeze(2)  # r_j / r_i at [i, j]
    size = torch.maximum(H_low.abs(), H_high.abs())
    beside = torch.where(eye, 0.0, zero_times(ratio, size)).sum(2)
    d = H_high.diagonal(dim1=1, dim2=2) + beside - shift
    found = [d.nan_to_num(math.inf, math.inf, -math.inf)]
    is_finite = (H_low.isfinite() & H_high.isfinite()).flatten(1).all(1)
    if n > 1 and bool(is_finite.any()):
        full = scale.unsqueeze(1) * scale.unsqueeze(2)
        centre, spread = 0.5 * (H_low + H_high) * full, 0.5 * (H_high - H_low) * full
        centre, spread = (torch.where(is_finite[:, None, None], part, 0.0) for part in (centre, spread))
        top = torch.linalg.eigvalsh(centre)[:, -1] + spread.sum(2).amax(1)
        by_eigenvalue = top.unsqueeze(1) / scale.square() - shift
        found.append(torch.where(is_finite.unsqueeze(1), by_eigenvalue, math.inf))
    return found


def parabola_rise(g_low: Tensor, g_high: Tensor, d: Tensor, below: Tensor, above: Tensor) -> Tensor:
    """The largest g t + d t^2 / 2 for t from ``below`` <= 0 to ``above`` >= 0 and g between its ends."""
    return torch.maximum(_rise(g_high, d, above), _rise(-g_low, d, -below))


def _rise(g: Tensor, d: Tensor, length: Tensor) -> Tensor:
    """The largest g t + d t^2 / 2 for t from 0 to ``length``, which may be infinite."""
    t = torch.where(d < 0, (-g / d).clamp(min=0.0), math.inf)
    t = torch.minimum(torch.where(t.isnan(), math.inf, t), length)
    rise = zero_times(g, t) + 0.5 * zero_times(d, t.square())
    return torch.where(t == 0, 0.0, rise).nan_to_num(math.inf, math.inf, -math.inf).clamp(min=0.0)
