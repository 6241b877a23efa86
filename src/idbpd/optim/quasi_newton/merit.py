"""The merit function a f + mu max_i [g_i]_+: how large mu must be, and how far its values can be trusted."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.oracle import Evaluation, Gradients
from idbpd.optim.quasi_newton.penalty_model import violation

# A penalty beyond this counts as infinite: times the rounding of g it is as large as any f.
LARGEST = 1e10


class Merit(NamedTuple):
    """What a search decreases."""

    objective: float  # a: 1, or 0 when only the violation is minimised
    penalty: float  # mu
    value_errors: Sequence[float]  # of f and each g_i, see `value_errors`
    equalities: int = 0  # among the g_i, the last ones

    def at(self, f: float, g: Tensor) -> float:
        """The value at a point with these values."""
        return self.objective * f + self.penalty * self._violation(g)

    def noise(self, g: Tensor) -> float:
        """By how much merits near a point with the constraints ``g`` may differ by rounding alone."""
        noise = self.objective * self.value_errors[0]
        return noise + self.penalty * max(self.value_errors[1:]) if self._violation(g) > 0 else noise

    def _violation(self, g: Tensor) -> float:
        """Violation beyond rounding error."""
        return violation(g, self.equalities, torch.tensor(self.value_errors[1:], dtype=torch.float64))


def value_errors(evaluation: Evaluation, gradients: Gradients) -> Tensor:
    """By how much f and each g_i may be wrong, (1 + c,): by rounding and by the error of the inner maxima.

    A value near zero may still be the difference of large numbers. Rounding x alone changes it by up to
    sum_j |x_j grad_j| eps, which bounds the rounding from below and costs nothing to know.
    """
    x = evaluation.x
    eps = torch.finfo(x.dtype).eps
    values = torch.cat([evaluation.f.reshape(1), evaluation.g]).abs()
    rounding_scale = gradients.rows.abs() @ x.abs()
    return eps * (values + rounding_scale.to(torch.float64)) + evaluation.error.nan_to_num(0, 0, 0)
