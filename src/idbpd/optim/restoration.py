"""When the violation must be minimised alone: where that has no descent left, and how to get away from there."""

import torch
from torch import Tensor

from idbpd.optim.host import index, number
from idbpd.optim.metric import Metric, identity
from idbpd.optim.model import build, violation
from idbpd.optim.oracle import Gradients

ATTEMPTS = 4  # random displacements, each ten times the last, before the constraints are called impossible to meet


def has_no_descent(x: Tensor, gradients: Gradients, g: Tensor, tolerance: float) -> bool:
    """Whether max_i [g_i]_+ is stationary at ``x``: some convex combination of the gradients of the largest g_i
    vanishes.
    """
    model = build(gradients, g, identity(x), 0.0)
    multipliers = model.propose(1.0, 1.0).multipliers
    square = number(multipliers @ model.gram[1:, 1:] @ multipliers)
    return number(multipliers.sum()) > 1 - 1e-6 and square <= tolerance**2


def first_metric(x: Tensor, gradients: Gradients, g: Tensor) -> Metric:
    """The scaled identity in which the first step would remove the largest violation, or be as long as ``x``, if that
    is shorter.
    """
    vectors = torch.stack([gradients.g[index(g.argmax())], x])
    size, length = torch.linalg.vector_norm(vectors, dim=1, dtype=torch.float64).tolist()
    return identity(x, min(violation(g) / size, max(1.0, length)) / size if size > 0 else 1.0)


def displaced(x: Tensor, attempt: int) -> Tensor:
    """``x`` moved at random, the same way each time it is asked: further at each attempt, in proportion to each
    coordinate.
    """
    generator = torch.Generator().manual_seed(attempt)
    direction = torch.randn(x.numel(), generator=generator, dtype=torch.float64).to(x)
    return x + 1e-3 * 10.0**attempt * (1 + x.abs()) * direction
