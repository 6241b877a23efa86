"""The range of functions of one number with a kink, and of their first two derivatives, over an interval.

At a kink the first derivative is the interval of slopes. The second is infinite upwards where the slope jumps up, and
downwards where it jumps down.
"""

import math

import torch
from torch import Tensor

from idbpd.optim.enclosure.intervals import Interval, even
from idbpd.optim.enclosure.ranges import Ranges, Rule, float64


def _bent(v: Interval, at: Tensor, below: float, above: float) -> tuple[Interval, Interval]:
    """Slope and bend of a function that has the slope ``below`` up to the point ``at`` and ``above`` beyond."""
    is_below, is_above = v.high <= at, v.low >= at
    lower, upper = float64(below), float64(above)
    slopes = [torch.where(is_above, upper, lower), torch.where(is_below, lower, upper)]
    slope = Interval(torch.minimum(*slopes), torch.maximum(*slopes))
    jump = torch.where(is_below | is_above, 0.0, math.copysign(math.inf, above - below)).to(v.low)
    return slope, Interval(jump.clamp(max=0), jump.clamp(min=0))


def absolute(v: Interval) -> Ranges:
    """|v|."""
    return Ranges(even(v, torch.abs), *_bent(v, torch.zeros(()), -1.0, 1.0))


def relu(v: Interval) -> Ranges:
    """The larger of v and 0."""
    return Ranges(v.mapped(torch.relu), *_bent(v, torch.zeros(()), 0.0, 1.0))


def leaky(slope: float) -> Rule:
    """A slope for negative numbers, and 1 for positive ones; for a slope that is not negative."""
    return lambda v: Ranges(
        v.mapped(lambda s: torch.where(s > 0, s, slope * s)), *_bent(v, torch.zeros(()), slope, 1.0)
    )


def clamp_below(bound: Tensor) -> Rule:
    """The larger of a number and the bound."""
    return lambda v: Ranges(v.mapped(lambda s: torch.maximum(s, bound)), *_bent(v, bound, 0.0, 1.0))


def clamp_above(bound: Tensor) -> Rule:
    """The smaller of a number and the bound."""
    return lambda v: Ranges(v.mapped(lambda s: torch.minimum(s, bound)), *_bent(v, bound, 1.0, 0.0))


def huber(delta: float, factor: float) -> Rule:
    """``factor`` times: half a square up to ``delta``, a straight line beyond."""

    def value(s: Tensor) -> Tensor:
        return factor * torch.where(s.abs() <= delta, 0.5 * s * s, delta * (s.abs() - 0.5 * delta))

    def rule(v: Interval) -> Ranges:
        is_inside, is_outside = v.magnitude <= delta, (v.low >= delta) | (v.high <= -delta)
        none, full = float64(0.0), float64(factor)
        bend = Interval(torch.where(is_inside, full, none), torch.where(is_outside, none, full))
        return Ranges(even(v, value), v.mapped(lambda s: factor * s.clamp(-delta, delta)), bend)

    return rule
