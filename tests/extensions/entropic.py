r"""A penalty on the relative entropy of the weights, in closed form.

.. math:: \max_{y \in \Delta_n} \sum_i y_i l_i - \tau \sum_i y_i \log (n y_i) = \tau \log \frac1n \sum_i e^{l_i / \tau}

The maximiser is softmax(l / tau).
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor


@final
@dataclass(frozen=True)
class Entropic:
    """``temperature`` is tau: small is close to the worst sample alone, large is close to the mean."""

    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Reject a temperature without meaning."""
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}")

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:
        """The weights softmax(l / tau)."""
        return (losses / self.temperature).softmax(dim=-1)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:
        """The relative entropy to uniform weights, times tau; 0 log 0 is 0."""
        entropy = torch.xlogy(weights, weights * weights.shape[-1]).sum(dim=-1)
        return self.temperature * entropy

    def protects(self, task: str, size: int) -> str:
        """In words."""
        return (
            f"every weighting of the {size} samples of {task}, at the price of {self.temperature:g} per nat of entropy"
        )
