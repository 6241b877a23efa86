"""The range of a function of one number over an interval, with those of its first two derivatives."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.enclosure.intervals import Interval


class Ranges(NamedTuple):
    """Of a function and of its derivatives."""

    value: Interval
    slope: Interval
    bend: Interval


Rule = Callable[[Interval], Ranges]


def float64(number: float) -> Tensor:
    """A number as a tensor: by itself, torch would round it to float32."""
    return torch.tensor(number, dtype=torch.float64)
