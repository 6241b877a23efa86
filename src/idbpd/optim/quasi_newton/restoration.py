"""Restoration, when the violation is minimised alone: where it has no descent left, and how to get away from there."""

import math

import torch
from torch import Tensor

from idbpd.optim.bounds import Sides, settled
from idbpd.optim.device_reads import index, number, read
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import sizes
from idbpd.optim.qp.active_set import minimise_signed
from idbpd.optim.quasi_newton.point import EvaluatedPoint

# Random displacements before the constraints are called impossible to meet. Each is ten times as far as the last, from
# 1e-3 to the size of x itself.
ATTEMPTS = 4


def has_no_descent(values: Tensor, gram: Tensor, equalities: int, tolerance: float) -> bool:
    """Whether the violation, the largest of ``values``, is stationary: some convex combination of the gradients of the
    largest ones vanishes. ``gram`` has the inner products of the gradients.
    """
    weights = minimise_signed(gram, -values, equalities, 1.0)
    return number(weights.abs().sum()) > 1 - 1e-6 and number(weights @ gram @ weights) <= tolerance**2


def has_no_descent_within(values: Tensor, rows: Tensor, sides: Sides, equalities: int, tolerance: float) -> bool:
    """The same where some variables are at bounds: what presses against them does not count. ``rows`` has gradients."""
    basis = rows.to(torch.float64)

    def solve(left: Tensor) -> Tensor:
        return minimise_signed(read(left @ left.T)[0], -values, equalities, 1.0)

    weights = settled(basis, sides, solve)
    left = torch.linalg.vector_norm(sides.left(weights.to(basis) @ basis))
    return number(weights.abs().sum()) > 1 - 1e-6 and number(read(left)[0]) <= tolerance


def first_scale(point: EvaluatedPoint, initial: InitialMetric | None) -> float:
    """The scale of H0 in which the first step would remove the largest violation, but be no longer than x."""
    largest, longest = 1 + index(sizes(point.g, point.evaluation.equalities).argmax()), max(1.0, point.length)
    if initial is not None:
        gradient = point.gradients.rows[largest]
        step = initial.apply(gradient.unsqueeze(0))[0]
        removed, length = read(torch.stack([gradient, step]).to(torch.float64) @ step.to(torch.float64))[0].tolist()
        length = math.sqrt(length)
        return min(point.violation / removed, longest / length) if removed > 0 and length > 0 else 1.0
    size = math.sqrt(number(point.gram[largest, largest]))
    return min(point.violation / size, longest) / size if size > 0 else 1.0


def displaced(x: Tensor, attempt: int) -> Tensor:
    """``x`` moved at random, in proportion to itself: ten times further at each attempt, the same way in every run."""
    generator = torch.Generator().manual_seed(attempt)
    direction = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
    return x + 1e-3 * 10.0**attempt * (1 + x.abs()) * direction
