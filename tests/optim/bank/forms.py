"""Worst cases in closed form, written independently of the library."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tests.optim.bank.case import t


def project_simplex(v: Tensor) -> Tensor:
    ordered = v.sort(descending=True).values
    index = torch.arange(1, v.numel() + 1, dtype=v.dtype)
    shift = (ordered.cumsum(0) - 1) / index
    count = int((ordered > shift).sum())
    return (v - shift[count - 1]).clamp(min=0)


def regularised_maximum(losses: Tensor, c: float) -> Tensor:
    """max over the simplex of y.l - c/2 ||y - 1/n||^2."""
    n = losses.numel()
    y = project_simplex(1 / n + losses.detach() / c)
    return y @ losses - 0.5 * c * (y - 1 / n).square().sum()


def half_square(x: Tensor, centre: Sequence[float]) -> Tensor:
    return 0.5 * (x - t(centre, x)).square().sum()


def disc(x: Tensor) -> Tensor:
    """max over w in R^n of w.x - 1/2 ||w||^2, less 1/2: the unit disc."""
    return 0.5 * x @ x - 0.5


def ball_max(v: Tensor, c: float, radius: float = 1.0) -> Tensor:
    """max over ||w|| <= radius of v.w - c/2 ||w||^2."""
    size = v.norm()
    return torch.where(size <= c * radius, size**2 / (2 * c), radius * size - c / 2 * radius**2)


def box_max(v: Tensor, c: float, radius: float = 1.0) -> Tensor:
    """max over |w| <= radius of v w - c/2 w^2, for each entry of v."""
    return torch.where(v.abs() <= c * radius, v**2 / (2 * c), radius * v.abs() - c / 2 * radius**2)


def square_box(x: Tensor) -> Tensor:
    """max over |w| <= 1 of -2 x w - w^2, for each entry of x."""
    return box_max(-2 * x, 2.0)


def plain_maximum(losses: Tensor) -> Tensor:
    """max over the simplex of y.l - 1/2 ||y||^2."""
    y = project_simplex(losses.detach())
    return y @ losses - 0.5 * y @ y


def adversarial(x: Tensor, X: Tensor, labels: Tensor) -> Tensor:
    """max over y in R^3 of the mean logistic loss on inputs shifted by y less 2 ||y||^2, plus ridge: y is along x."""
    unit = x / x.norm().clamp(min=1e-300)
    size = x.norm()
    low, high = torch.full((), -2.0, dtype=x.dtype), torch.full((), 2.0, dtype=x.dtype)
    margins = (labels * (X @ x)).detach()
    for _ in range(80):
        middle = (low + high) / 2
        slope = (
            -labels * size.detach() * torch.sigmoid(-(margins + labels * middle * size.detach()))
        ).mean() - 4 * middle
        low, high = torch.where(slope > 0, middle, low), torch.where(slope > 0, high, middle)
    y = (low * unit).detach()
    value: Tensor = torch.nn.functional.softplus(-labels * ((X + y) @ x)).mean() - 2 * y @ y + 0.05 * x @ x
    return value
