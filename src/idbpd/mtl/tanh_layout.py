"""Where the layers of the default network are in the flat vector of its weights, as the tasks of a problem see it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.network import SharedNetwork


class TanhWeights(NamedTuple):
    """The flat vector as the layers' weights, the heads of the problem's tasks in one."""

    trunk: Tensor  # (hidden, features)
    bias: Tensor  # (hidden,)
    heads: Tensor  # (labels of all tasks, hidden)
    offsets: Tensor  # (labels of all tasks,)


class TanhLayout:
    """From the flat vector to the layers, and from gradients of the layers back to it."""

    def __init__(self, network: SharedNetwork, data: MultiTaskData, tasks: Sequence[Task]) -> None:
        """Find where everything begins; ``tasks`` are those of the problem, in its order."""
        self.units, self.inputs = network.trunk.weight.shape
        self.labels = list(_spans([len(task.labels) for task in tasks]))
        self._count = sum(parameter.numel() for parameter in network.parameters())
        begins = list(_head_begins(self.units, self.inputs, data.classes))
        self._head_begins = [begins[data.position(task.name)] for task in tasks]

    def weights(self, x: Tensor) -> TanhWeights:
        """The weights of the layers."""
        units, inputs = self.units, self.inputs
        counts = [labels.stop - labels.start for labels in self.labels]
        parts = list(zip(self._head_begins, counts, strict=True))
        return TanhWeights(
            x[: units * inputs].view(units, inputs),
            x[units * inputs : units * inputs + units],
            torch.cat([x[at : at + n * units].view(n, units) for at, n in parts]),
            torch.cat([x[at + n * units : at + n * units + n] for at, n in parts]),
        )

    def spread(self, weights: TanhWeights) -> Tensor:
        """The heads side by side, each for its own copy of the hidden units: one product leads back to all of them."""
        spread = weights.heads.new_zeros(len(weights.heads), self.units * len(self.labels))
        for task, labels in enumerate(self.labels):
            spread[labels, task * self.units : (task + 1) * self.units] = weights.heads[labels]
        return spread

    def flat(self, of_trunk: Tensor, of_bias: Tensor, of_heads: Tensor, of_offsets: Tensor) -> Tensor:
        """The gradients in the order of the flat vector; a task's gradient is zero in the heads of others."""
        tasks, trunk = len(self.labels), self.units * self.inputs
        gradients = of_trunk.new_zeros(tasks, self._count)
        gradients[:, :trunk] = of_trunk.view(tasks, trunk)
        gradients[:, trunk : trunk + self.units] = of_bias.view(tasks, self.units)
        for task, (labels, begin) in enumerate(zip(self.labels, self._head_begins, strict=True)):
            head = torch.cat([of_heads[labels].flatten(), of_offsets[labels]])
            gradients[task, begin : begin + len(head)] = head
        return gradients


def _head_begins(units: int, inputs: int, classes: Sequence[int]) -> Iterator[int]:
    """Where the weights of each head begin in the flat vector: its bias follows them, the next head follows that."""
    begin = units * inputs + units
    for count in classes:
        yield begin
        begin += count * units + count


def _spans(lengths: Sequence[int]) -> Iterator[slice]:
    begin = 0
    for length in lengths:
        yield slice(begin, begin + length)
        begin += length
