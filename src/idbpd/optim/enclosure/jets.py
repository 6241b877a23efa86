"""Intervals for a function, its gradient and its Hessian over boxes: what a tape computes when numbers are boxes.

A jet of a tensor of shape S, over B boxes in n variables, is an interval of shape (B, J, *S): along its second axis the
value, then the n partial derivatives, then the n (n + 1) / 2 second ones. Order 0 has the value alone (J = 1), order 1
the value and the gradient.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.enclosure.intervals import Interval, everything, sound
from idbpd.optim.enclosure.ranges import Rule


class Frame(NamedTuple):
    """The number of variables, and how many derivatives are computed."""

    n: int
    order: int

    @property
    def size(self) -> int:
        """J, the length of the second axis of a jet."""
        return (1, 1 + self.n, 1 + self.n + self.n * (self.n + 1) // 2)[self.order]

    @property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """The two indices of each second derivative."""
        rows, columns = torch.triu_indices(self.n, self.n).unbind()
        return rows, columns


class Jet(NamedTuple):
    """Intervals for all derivatives up to the order of the frame."""

    low: Tensor  # (B, J, *S)
    high: Tensor

    @property
    def value(self) -> Interval:
        """Of the value."""
        return Interval(self.low[:, 0], self.high[:, 0])

    def gradient(self, frame: Frame) -> Interval:
        """Of the partial derivatives, (B, n, *S)."""
        return Interval(self.low[:, 1 : 1 + frame.n], self.high[:, 1 : 1 + frame.n])

    def bends(self, frame: Frame) -> Interval:
        """Of the second derivatives, (B, n (n + 1) / 2, *S)."""
        return Interval(self.low[:, 1 + frame.n :], self.high[:, 1 + frame.n :])


def variables(frame: Frame, low: Tensor, high: Tensor, shape: torch.Size) -> Jet:
    """The argument itself over boxes, (B, n) each end."""
    count = low.shape[0]
    rest = low.new_zeros(count, frame.size - 1, frame.n)
    if frame.order:
        rest[:, : frame.n] = torch.eye(frame.n, dtype=low.dtype)
    ends = (torch.cat([end.unsqueeze(1), rest], dim=1).reshape(count, frame.size, *shape) for end in (low, high))
    return Jet(*ends)


def joined(value: Interval, gradient: Interval | None, bends: Interval | None) -> Jet:
    """A jet of its parts."""
    parts = [Interval(value.low.unsqueeze(1), value.high.unsqueeze(1))]
    parts += [part for part in (gradient, bends) if part is not None]
    return Jet(torch.cat([part.low for part in parts], dim=1), torch.cat([part.high for part in parts], dim=1))


def aligned(jet: Jet, rank: int) -> Jet:
    """With leading axes of length one, so that its tensors broadcast against those of another rank."""
    missing = rank - (jet.low.dim() - 2)
    if missing <= 0:
        return jet
    shape = (*jet.low.shape[:2], *(1,) * missing, *jet.low.shape[2:])
    return Jet(jet.low.reshape(shape), jet.high.reshape(shape))


def apply_unary(frame: Frame, jet: Jet, rule: Rule) -> Jet:
    """The chain rule."""
    value, slope, bend = rule(jet.value)
    gradient = bends = None
    if frame.order >= 1:
        g = jet.gradient(frame)
        gradient = _over(slope).times(g)
    if frame.order == 2:
        rows, columns = frame.pairs
        one, other = (Interval(g.low[:, index], g.high[:, index]) for index in (rows, columns))
        is_square = (rows == columns).reshape(1, -1, *(1,) * (g.low.dim() - 2))
        products = one.squared().where(is_square, one.times(other))
        bends = _over(slope).times(jet.bends(frame)).plus(_over(bend).times(products))
    return joined(value, gradient, bends)


def multiply(frame: Frame, a: Jet, b: Jet) -> Jet:
    """The product rule."""
    rank = max(a.low.dim(), b.low.dim()) - 2
    a, b = aligned(a, rank), aligned(b, rank)
    value, gradient, bends = a.value.times(b.value), None, None
    if frame.order >= 1:
        ga, gb = a.gradient(frame), b.gradient(frame)
        gradient = _over(a.value).times(gb).plus(_over(b.value).times(ga))
    if frame.order == 2:
        rows, columns = frame.pairs
        (ai, aj), (bi, bj) = (
            [Interval(g.low[:, index], g.high[:, index]) for index in (rows, columns)] for g in (ga, gb)
        )
        mixed = ai.times(bj).plus(aj.times(bi))
        bends = _over(a.value).times(b.bends(frame)).plus(_over(b.value).times(a.bends(frame))).plus(mixed)
    return joined(value, gradient, bends)


def add(a: Jet, b: Jet) -> Jet:
    """The sum."""
    rank = max(a.low.dim(), b.low.dim()) - 2
    a, b = aligned(a, rank), aligned(b, rank)
    return Jet(*sound(a.low + b.low, a.high + b.high))


def scale(jet: Jet, factor: Tensor) -> Jet:
    """Times a constant tensor."""
    jet = aligned(jet, factor.dim())
    return Jet(*Interval(*jet).scaled(factor))


def constant_jet(frame: Frame, value: Tensor, count: int) -> Jet:
    """A tensor that does not depend on the argument."""
    rest = value.new_zeros(frame.size - 1, *value.shape)
    full = torch.cat([value.unsqueeze(0), rest]).expand(count, frame.size, *value.shape)
    return Jet(full, full)


def unknown_beyond_value(frame: Frame, value: Interval) -> Jet:
    """A value of which no derivative is known."""
    shape = (value.low.shape[0], frame.size - 1, *value.low.shape[1:])
    return joined(value, everything(value.low.new_zeros(shape)), None)


def largest(frame: Frame, jet: Jet, axis: int) -> Jet:
    """The largest entry along an axis of the tensor. Where several may be the largest, it has a kink upwards."""
    dim = axis + 2 if axis >= 0 else jet.low.dim() + axis
    value = Interval(jet.low[:, :1].amax(dim), jet.high[:, :1].amax(dim))
    if frame.order == 0:
        return Jet(*value)
    # Only what may attain the maximum somewhere in the box counts.
    may_win = jet.high[:, :1] >= value.low.unsqueeze(dim)
    is_kinked = may_win.sum(dim) > 1
    low = torch.where(may_win, jet.low[:, 1:], torch.inf).amin(dim)
    high = torch.where(may_win, jet.high[:, 1:], -torch.inf).amax(dim)
    if frame.order == 2:
        rows, columns = frame.pairs
        is_mixed = torch.cat([torch.zeros(frame.n, dtype=torch.bool), rows != columns])
        is_bend = torch.arange(frame.size - 1) >= frame.n
        column = (-1, *(1,) * (low.dim() - 2))
        low = torch.where(is_kinked & is_mixed.reshape(column), -torch.inf, low)
        high = torch.where(is_kinked & is_bend.reshape(column), torch.inf, high)
    return Jet(torch.cat([value.low, low], dim=1), torch.cat([value.high, high], dim=1))


def negated(jet: Jet) -> Jet:
    """With the other sign."""
    return Jet(-jet.high, -jet.low)


def _over(part: Interval) -> Interval:
    """With an axis for derivatives."""
    return Interval(part.low.unsqueeze(1), part.high.unsqueeze(1))
