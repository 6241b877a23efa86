r"""A penalty on weights that are far from uniform, in closed form.

For losses l of n samples, the chi-square-regularised worst case over the simplex is

.. math:: \max_{y \in \Delta_n} \sum_i y_i l_i - \frac{\lambda n}{2} \|y - 1/n\|^2 .

It is a concave quadratic with Hessian -lambda n I, so the maximiser is the projection of 1/n + l / (lambda n) onto the
simplex: one projected-gradient step of size 1 / (lambda n) is exact from any start, and the N_k and M_k steps of
Algorithm 1 collapse to one.
"""

from dataclasses import dataclass
from typing import final

from torch import Tensor

from idbpd.optim.sets import Simplex


@final
@dataclass(frozen=True)
class Penalty:
    """The paper's worst case; ``regularisation`` is its lambda."""

    regularisation: float

    def __post_init__(self) -> None:
        """Reject a lambda for which the maximiser is not unique."""
        if not self.regularisation > 0:
            raise ValueError(f"regularisation must be positive, got {self.regularisation}")

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The projection of 1/n + l / (lambda n) onto the simplex."""
        n = losses.shape[-1]
        return Simplex(n).project(1 / n + losses / (self.regularisation * n))

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """(lambda n / 2) ||y - 1/n||^2."""
        n = weights.shape[-1]
        return self.regularisation * n / 2 * ((weights - 1 / n) ** 2).sum(dim=-1)

    def protects(self, task: str, size: int) -> str:
        """N y_i = 1 + (l_i - mu) / lambda, in words."""
        more = self.regularisation
        return (
            f"every weighting of the {size} samples of {task}, at a price: a sample whose loss is {more:g} above the "
            f"rest counts twice, one {2 * more:g} above counts three times"
        )
