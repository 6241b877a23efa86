"""What tests of the inner maximisation share."""

from collections.abc import Callable

import torch
from torch import Tensor

from idbpd.optim.sets import Box

Function = Callable[[Tensor], Tensor]


def vector(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def box(n: int, low: float = -1.0, high: float = 1.0) -> Box:
    return Box(torch.full((n,), low, dtype=torch.float64), high)


class Counting:
    """A function that counts its calls."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.calls = 0

    def __call__(self, point: Tensor) -> Tensor:
        self.calls += 1
        return self._function(point)
