"""Sums and maxima over all ranks: the only way in which ranks speak to each other while they evaluate a point.

Every rank gets the same bytes, so that all of them take the same decisions from them. Numbers that decide go over the
host, a handful at a time: a search for a threshold looks at each of them. Gradients stay on their device.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor


class Reduction(Protocol):
    """Adds up over all ranks."""

    def sums(self, numbers: Sequence[Tensor]) -> Tensor:
        """The sum over the ranks of each number: float64, on the host, in one message."""
        ...

    def largest(self, numbers: Sequence[Tensor]) -> Tensor:
        """The largest over the ranks of each number: float64, on the host, in one message."""
        ...

    def add(self, tensor: Tensor) -> Tensor:
        """The sum over the ranks of a large tensor, in place, where it is."""
        ...


class Alone:
    """One rank: there is nothing to add."""

    def sums(self, numbers: Sequence[Tensor]) -> Tensor:
        """The numbers themselves."""
        return _on_host(numbers)

    def largest(self, numbers: Sequence[Tensor]) -> Tensor:
        """The numbers themselves."""
        return _on_host(numbers)

    def add(self, tensor: Tensor) -> Tensor:
        """The tensor itself."""
        return tensor


class Ranks:
    """All ranks of the default process group; what they send is counted, for docs/scale.md."""

    def __init__(self) -> None:
        """Nothing is sent yet."""
        self.messages, self.bytes = 0, 0

    def sums(self, numbers: Sequence[Tensor]) -> Tensor:
        """One small all-reduce."""
        return self.add(_on_host(numbers))

    def largest(self, numbers: Sequence[Tensor]) -> Tensor:
        """One small all-reduce. It may lose a NaN; the sums of the same losses keep it."""
        mine = _on_host(numbers)
        self._count(mine)
        dist.all_reduce(mine, dist.ReduceOp.MAX)
        return mine

    def add(self, tensor: Tensor) -> Tensor:
        """One all-reduce."""
        self._count(tensor)
        dist.all_reduce(tensor)
        return tensor

    def _count(self, tensor: Tensor) -> None:
        self.messages += 1
        self.bytes += tensor.numel() * tensor.element_size()


def _on_host(numbers: Sequence[Tensor]) -> Tensor:
    return torch.stack([number.to(torch.float64) for number in numbers]).cpu()
