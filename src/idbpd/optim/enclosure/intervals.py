"""Arithmetic with intervals: pairs of tensors, of lower and upper ends, which may be infinite.

Ends are computed in float64 without directed rounding. Whoever uses them allows for rounding.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Interval(NamedTuple):
    """Numbers from ``low`` to ``high``, entry by entry."""

    low: Tensor
    high: Tensor

    def __neg__(self) -> "Interval":
        """All numbers with the other sign."""
        return Interval(-self.high, -self.low)

    def plus(self, other: "Interval") -> "Interval":
        """All sums."""
        return sound(self.low + other.low, self.high + other.high)

    def times(self, other: "Interval") -> "Interval":
        """All products; zero times infinity is zero, as the infinite end is never attained."""
        products = torch.stack(
            [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high]
        ).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)
        return Interval(products.amin(0), products.amax(0))

    def scaled(self, factor: Tensor) -> "Interval":
        """All numbers times a constant."""
        one, other = _product(self.low, factor), _product(self.high, factor)
        return Interval(torch.minimum(one, other), torch.maximum(one, other))

    def squared(self) -> "Interval":
        """All squares."""
        return even(self, torch.square)

    def hull(self, other: "Interval") -> "Interval":
        """The least interval around both."""
        return Interval(torch.minimum(self.low, other.low), torch.maximum(self.high, other.high))

    def where(self, condition: Tensor, other: "Interval") -> "Interval":
        """The numbers of one interval where the condition holds, else those of the other."""
        return Interval(torch.where(condition, self.low, other.low), torch.where(condition, self.high, other.high))

    def mapped(self, function: Callable[[Tensor], Tensor]) -> "Interval":
        """Both ends by a function that does not fall."""
        return sound(function(self.low), function(self.high))

    @property
    def magnitude(self) -> Tensor:
        """The largest absolute value."""
        return torch.maximum(self.low.abs(), self.high.abs())


def sound(low: Tensor, high: Tensor) -> Interval:
    """An interval in which an end that is not a number becomes infinite."""
    return Interval(low.nan_to_num(-math.inf, math.inf, -math.inf), high.nan_to_num(math.inf, math.inf, -math.inf))


def constant(value: Tensor) -> Interval:
    """Single numbers."""
    return Interval(value, value)


def everything(like: Tensor) -> Interval:
    """All numbers."""
    return Interval(torch.full_like(like, -math.inf), torch.full_like(like, math.inf))


def between(low: float, high: float, like: Tensor) -> Interval:
    """The same interval everywhere."""
    return Interval(torch.full_like(like, low), torch.full_like(like, high))


def even(v: Interval, function: Callable[[Tensor], Tensor]) -> Interval:
    """An even function that rises away from zero."""
    nearest = torch.where((v.low <= 0) & (v.high >= 0), 0.0, torch.minimum(v.low.abs(), v.high.abs()))
    return sound(function(nearest), function(v.magnitude))


def contains(v: Interval, numbers: Tensor | float, period: float) -> Tensor:
    """Whether some number ``numbers + k period`` lies in the interval."""
    k = torch.ceil((v.low - numbers) / period)
    return ~(numbers + k * period > v.high) | ~v.low.isfinite() | ~v.high.isfinite()


def wave(v: Interval, function: Callable[[Tensor], Tensor], highest: float, period: float = 2 * math.pi) -> Interval:
    """A sine or cosine with its maximum 1 at ``highest``."""
    one, other = function(v.low), function(v.high)
    low = torch.where(contains(v, highest + period / 2, period), -1.0, torch.minimum(one, other))
    high = torch.where(contains(v, highest, period), 1.0, torch.maximum(one, other))
    return sound(low, high)


def _product(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)
