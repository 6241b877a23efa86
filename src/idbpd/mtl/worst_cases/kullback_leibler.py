r"""The Kullback-Leibler ball: every weighting of the samples that is near enough to equal weights.

.. math:: \max_{y \in \Delta_n} \sum_i y_i l_i \quad\text{s.t.}\quad \sum_i y_i \log (n y_i) \le \rho

Equal weights on a share a of the samples, and none on the others, have log(1/a): the ball has every such share down to
exp(-rho). The maximiser is softmax(l / tau), for the tau at which it meets the sphere.
"""

import math
from dataclasses import dataclass
from typing import final

from torch import Tensor

from idbpd.mtl.worst_cases.words import percent
from idbpd.optim.sets import KLBall


@final
@dataclass(frozen=True)
class KullbackLeibler:
    """All weights whose relative entropy to equal ones is at most ``radius``."""

    radius: float

    def __post_init__(self) -> None:
        """Reject a radius without meaning."""
        if not 0 < self.radius < math.inf:
            raise ValueError(f"the radius of kl must be positive, got {self.radius}; 0.7 covers any half of the data")

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The exponential tilt of equal weights that is as far from them as allowed."""
        return KLBall(losses.shape[-1], self.radius).support(losses)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Nothing: weights are free within the ball."""
        return weights.new_zeros(weights.shape[:-1])

    def protects(self, task: str, size: int) -> str:
        """The ball, in words."""
        return (
            f"every weighting of the {size} samples of {task} whose relative entropy to equal weights is at most "
            f"{self.radius:g}, among them any {percent(math.exp(-self.radius))} of the samples alone"
        )
