"""When the violation must be minimised alone: where that has no descent left, and how to get away from there."""

import math

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number
from idbpd.optim.quasi_newton.penalty_model import Model, violation
from idbpd.optim.quasi_newton.point import Place, unlearnt

ATTEMPTS = 4  # random displacements, each ten times the last, before the constraints are called impossible to meet


def has_no_descent(place: Place, tolerance: float) -> bool:
    """Whether max_i [g_i]_+ is stationary: some convex combination of the gradients of the largest g_i vanishes."""
    slopes = unlearnt(place, 1.0)
    model = Model(slopes.rows, slopes.gram, place.g, torch.zeros_like(place.g), 0.0)
    multipliers = model.propose(1.0, 1.0).multipliers
    square = number(multipliers @ place.products[1:, 1:] @ multipliers)
    return number(multipliers.sum()) > 1 - 1e-6 and square <= tolerance**2


def first_scale(place: Place) -> float:
    """The scaled identity in which the first step would remove the largest violation, or be as long as ``x``, if that
    is shorter.
    """
    largest = 1 + index(place.g.argmax())
    size = math.sqrt(number(place.products[largest, largest]))
    return min(violation(place.g) / size, max(1.0, place.length)) / size if size > 0 else 1.0


def displaced(x: Tensor, attempt: int) -> Tensor:
    """``x`` moved at random, the same way each time it is asked: further at each attempt, in proportion to each
    coordinate.
    """
    generator = torch.Generator().manual_seed(attempt)
    direction = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
    return x + 1e-3 * 10.0**attempt * (1 + x.abs()) * direction
