"""The network that all tasks share."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from idbpd.mtl.losses import CrossEntropy, Loss

M = TypeVar("M", bound=nn.Module)


class Heads(nn.Module):
    """What comes after the first linear layer: tanh, and one linear head of logits per task."""

    def __init__(self, hidden: int, classes: Sequence[int]) -> None:
        """Make one head per task."""
        super().__init__()
        self.task = nn.ModuleList(nn.Linear(hidden, count) for count in classes)

    def forward(self, preactivations: Tensor) -> tuple[Tensor, ...]:
        """Logits of every task for every row."""
        shared = torch.tanh(preactivations)
        return tuple(head(shared) for head in self.task)


class SharedNetwork(nn.Module):
    """One hidden tanh layer shared by all tasks, and one linear head per task (the paper's model).

    The first layer is kept apart because it is where the time goes: with many features and few classes nearly all of
    the arithmetic is its one matrix product, which the oracle therefore does once per point and never again.
    """

    def __init__(self, features: int, hidden: int, classes: Sequence[int]) -> None:
        """Make the layers with torch's default initialisation."""
        super().__init__()
        self.trunk = nn.Linear(features, hidden)
        self.heads = Heads(hidden, classes)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        """Logits of every task for every row."""
        logits: tuple[Tensor, ...] = self.heads(self.trunk(features))
        return logits


def seeded(make: Callable[[], M], seed: int) -> M:
    """A module whose initial weights depend on the seed alone, not on what else drew random numbers before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def seeded_network(features: int, hidden: int, classes: Sequence[int], seed: int) -> SharedNetwork:
    """The default network with the initial weights of that seed."""
    return seeded(lambda: SharedNetwork(features, hidden, classes), seed)


class AnswerNetwork(nn.Module):
    """A trained network as others use it: the answers to all tasks side by side, in the order of their outputs.

    It takes features that are not scaled yet, and scales them as those of the training data were scaled.
    """

    def __init__(
        self, network: nn.Module, scaling: nn.Module | None = None, losses: Sequence[Loss] | None = None
    ) -> None:
        """Wrap a network that gives one tensor of outputs per task, and the scaling of the features before it.

        The loss that a task was trained with says how its outputs become answers: by softmax where ``losses`` is None.
        """
        super().__init__()
        self.network = network
        self.scaling = scaling if scaling is not None else nn.Identity()
        self.losses = losses

    def forward(self, features: Tensor) -> Tensor:
        """One row of answers per row of features; a number is still in the units that the network was trained in."""
        logits = self.network(self.scaling(features))
        losses = self.losses if self.losses is not None else [CrossEntropy()] * len(logits)
        return torch.cat([loss.answers(part) for loss, part in zip(losses, logits, strict=True)], dim=-1)
