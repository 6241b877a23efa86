r"""The chi-square ball: every weighting of the samples that is near enough to equal weights.

.. math:: \max_{y \in \Delta_n} \sum_i y_i l_i \quad\text{s.t.}\quad \frac n2 \|y - 1/n\|^2 \le \rho

The left side is half the variance of the relative weights n y_i, so their standard deviation is at most sqrt(2 rho).
Equal weights on a share a of the samples, and none on the others, have (1/a - 1) / 2: the ball has every such share
down to 1 / (1 + 2 rho).

While no weight meets zero, the value is the mean plus sqrt(2 rho) times the standard deviation of the losses: it has a
kink where all losses are equal.
"""

import math
from dataclasses import dataclass
from typing import final

from torch import Tensor

from idbpd.mtl.worst_cases.words import percent
from idbpd.optim.sets import ChiSquareBall


@final
@dataclass(frozen=True)
class ChiSquare:
    """All weights whose chi-square divergence from equal ones, (n/2) ||y - 1/n||^2, is at most ``radius``."""

    radius: float

    def __post_init__(self) -> None:
        """Reject a radius without meaning."""
        if not 0 < self.radius < math.inf:
            raise ValueError(f"the radius of chi2 must be positive, got {self.radius}; 0.5 covers any half of the data")

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The point of the ball farthest along the losses, by a sort and a square root."""
        return ChiSquareBall(losses.shape[-1], self.radius).support(losses)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Nothing: weights are free within the ball."""
        return weights.new_zeros(weights.shape[:-1])

    def protects(self, task: str, size: int) -> str:
        """The ball, in words."""
        return (
            f"every weighting of the {size} samples of {task} whose chi-square distance from equal weights is at most "
            f"{self.radius:g}, among them any {percent(1 / (1 + 2 * self.radius))} of the samples alone"
        )
