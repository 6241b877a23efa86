"""What tests of the inner maximisation share."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from idbpd.optim.device_reads import number
from idbpd.optim.inner.exact import exact_maximum
from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.inner.maximise import climb
from idbpd.optim.sets import Box, ConvexSet

Function = Callable[[Tensor], Tensor]


def vector(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def box(n: int, low: float = -1.0, high: float = 1.0) -> Box:
    return Box(torch.full((n,), low, dtype=torch.float64), high)


def maximise(function: Function, over: ConvexSet, start: Tensor) -> Maximum:
    """As an oracle does it: exactly, or else by ascent."""
    f, start = InnerFunction(function), over.project(start.detach())
    found = exact_maximum(f, over, start)
    return found if math.isfinite(number(found.error)) else climb(f, over, start)


class Counting:
    """A function that counts its calls."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.calls = 0

    def __call__(self, point: Tensor) -> Tensor:
        self.calls += 1
        return self._function(point)
