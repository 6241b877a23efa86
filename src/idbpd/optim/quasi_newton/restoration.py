"""Restoration, when the violation is minimised alone: where it has no descent left, and how to get away from there."""

import math

import torch
from torch import Tensor

from idbpd.optim.device_reads import index, number
from idbpd.optim.qp.active_set import minimise_on_orthant
from idbpd.optim.quasi_newton.penalty_model import violation
from idbpd.optim.quasi_newton.point import EvaluatedPoint

ATTEMPTS = 4  # random displacements, each ten times the last, before the constraints are called impossible to meet


def has_no_descent(values: Tensor, gram: Tensor, tolerance: float) -> bool:
    """Whether the violation, the largest of ``values``, is stationary: some convex combination of the gradients of the
    largest ones vanishes. ``gram`` has the inner products of the gradients.
    """
    weights = minimise_on_orthant(gram, -values, 1.0)
    return number(weights.sum()) > 1 - 1e-6 and number(weights @ gram @ weights) <= tolerance**2


def first_scale(point: EvaluatedPoint) -> float:
    """The scale of the identity in which the first step would remove the largest violation, but be no longer than x."""
    largest = 1 + index(point.g.argmax())
    size = math.sqrt(number(point.gram[largest, largest]))
    return min(violation(point.g) / size, max(1.0, point.length)) / size if size > 0 else 1.0


def displaced(x: Tensor, attempt: int) -> Tensor:
    """``x`` moved at random, in proportion to itself: ten times further at each attempt, the same way in every run."""
    generator = torch.Generator().manual_seed(attempt)
    direction = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
    return x + 1e-3 * 10.0**attempt * (1 + x.abs()) * direction
