"""Equal weights: the mean loss, and no worst case at all."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor


@final
@dataclass(frozen=True)
class Mean:
    """The weight 1/n for every sample."""

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """There is nothing to choose."""
        return torch.full_like(losses, 1 / losses.shape[-1])

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Nothing."""
        return weights.new_zeros(weights.shape[:-1])

    def protects(self, task: str, size: int) -> str:
        """Only the mean."""
        return f"the mean loss over the {size} samples of {task}, and no part of them by itself"
