"""Restoration, when the violation is minimised alone: where it has no descent left, and how to get away from there."""

import math

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number
from idbpd.optim.quasi_newton.penalty_model import PenaltyModel, violation
from idbpd.optim.quasi_newton.point import EvaluatedPoint, in_scaled_identity

ATTEMPTS = 4  # random displacements, each ten times the last, before the constraints are called impossible to meet


def has_no_descent(point: EvaluatedPoint, tolerance: float) -> bool:
    """Whether max_i [g_i]_+ is stationary: some convex combination of the gradients of the largest g_i vanishes."""
    in_metric = in_scaled_identity(point, 1.0)
    none = torch.zeros_like(point.g)
    model = PenaltyModel(in_metric.rows, in_metric.gram, point.g, margin=none, objective=0.0)
    multipliers = model.propose(1.0, 1.0).multipliers
    square = number(multipliers @ point.gram[1:, 1:] @ multipliers)
    return number(multipliers.sum()) > 1 - 1e-6 and square <= tolerance**2


def first_scale(point: EvaluatedPoint) -> float:
    """The scale of the identity in which the first step would remove the largest violation, but be no longer than x."""
    largest = 1 + index(point.g.argmax())
    size = math.sqrt(number(point.gram[largest, largest]))
    return min(violation(point.g) / size, max(1.0, point.length)) / size if size > 0 else 1.0


def displaced(x: Tensor, attempt: int) -> Tensor:
    """``x`` moved at random, each coordinate in proportion to itself: ten times further at each attempt, and the same
    way in every run.
    """
    generator = torch.Generator().manual_seed(attempt)
    direction = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
    return x + 1e-3 * 10.0**attempt * (1 + x.abs()) * direction
