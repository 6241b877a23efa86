"""A network in the shape of LeNet for the 10 x 10 pictures of multi_digits: convolutions, then linear layers."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class SmallLeNet(nn.Module):
    """Two convolutions with pooling between them, one hidden linear layer, and a linear head per task."""

    def __init__(self, features: int, classes: Mapping[str, int], channels: int = 10, hidden: int = 100) -> None:
        """``features`` are the pixels of a square picture."""
        super().__init__()
        self.side = round(features**0.5)
        self.first = nn.Conv2d(1, channels, kernel_size=3)
        self.second = nn.Conv2d(channels, 2 * channels, kernel_size=3)
        pooled = (self.side - 2) // 2 - 2
        self.hidden = nn.Linear(2 * channels * pooled**2, hidden)
        self.heads = nn.ModuleDict({task: nn.Linear(hidden, count) for task, count in classes.items()})

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        """Logits of every task by its name."""
        pictures = features.reshape(-1, 1, self.side, self.side)
        small = nn.functional.avg_pool2d(torch.tanh(self.first(pictures)), 2)
        shared = torch.tanh(self.hidden(torch.tanh(self.second(small)).flatten(1)))
        return {task: head(shared) for task, head in self.heads.items()}
