"""The global maximum to a tolerance, with a proof: boxes that cannot hold a higher point are discarded, others split.

The bounds are those of `enclosure`: the function's interval over a box, the mean value form, and the second-order form
around two points of the box. Around a maximiser the second-order form is nearly sharp, so that boxes there need not
become small. On the sphere of a ball, and on the side of a simplex opposite to the origin, the maximiser's multiplier
is part of the bound.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.deadline import Deadline
from idbpd.optim.enclosure.enclose import enclose
from idbpd.optim.enclosure.jets import Frame
from idbpd.optim.enclosure.tape import Tape
from idbpd.optim.inner.second_order_bounds import parabola_rise, separable_bounds, symmetric, zero_times
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex

Ascent = Callable[[Tensor], Tensor]  # from a point of the domain to one that is not lower
_AT_ONCE = 128  # boxes that are split in one round: up to so many cost little more than one
_AT_LEAST = 16  # parts, to be split once more before they are looked at


class Domain(NamedTuple):
    """The set in the coordinates that are searched: a box, cut by a ball or by the half-space sum <= 1."""

    low: Tensor  # (n,) float64
    high: Tensor
    center: Tensor | None = None  # of the ball
    radius: float = 0.0
    is_simplex: bool = False  # the last entry of the point is 1 minus the sum, and is left out

    @property
    def is_box(self) -> bool:
        """Whether nothing is cut off."""
        return self.center is None and not self.is_simplex

    def reached(self, low: Tensor, high: Tensor) -> Tensor:
        """Whether each box has a point of the set."""
        if self.center is not None:
            nearest = self.center.clamp(min=low, max=high)
            return (nearest - self.center).square().sum(1) <= self.radius**2 * (1 + 1e-12)
        return low.sum(1) <= 1 + 1e-12 if self.is_simplex else torch.ones(low.shape[0], dtype=torch.bool)


def domain_of(over: ConvexSet) -> Domain | None:
    """The domain of a set; None where it is not known how to cover it with boxes."""
    n = over.dimension
    match over:
        case Box():
            return Domain(over.low.double().flatten().cpu(), over.high.double().flatten().cpu())
        case Ball():
            center = over.center.double().flatten().cpu()
            return Domain(center - over.radius, center + over.radius, center, over.radius)
        case Simplex():
            zeros = torch.zeros(n - 1, dtype=torch.float64)
            return Domain(zeros, torch.ones_like(zeros), is_simplex=True) if n > 1 else None
        case _ if not over.is_bounded and hasattr(over, "n"):
            return Domain(torch.full((n,), -math.inf, dtype=torch.float64), torch.full((n,), math.inf).double())
        case _:
            return None


class Bounded(NamedTuple):
    """The highest point found, its value, and a bound on the maximum."""

    point: Tensor  # (n,) in the coordinates of the domain
    value: float
    upper: float
    boxes: int  # that were looked at


class _Multiplier(NamedTuple):
    """What is added to the function: not negative on the set, and zero at the maximiser."""

    curvature: float  # m in m/2 (R^2 - ||v - c||^2)
    slope: float  # m in m (1 - sum v)
    domain: Domain

    def value(self, v: Tensor) -> Tensor:
        """At points, (B, n)."""
        total = torch.zeros(v.shape[0], dtype=torch.float64)
        if self.curvature and self.domain.center is not None:
            total = total + 0.5 * self.curvature * (self.domain.radius**2 - (v - self.domain.center).square().sum(1))
        return total + self.slope * (1 - v.sum(1)) if self.slope else total

    def gradient(self, v: Tensor) -> Tensor:
        """At points, (B, n)."""
        if self.curvature and self.domain.center is not None:
            return -self.curvature * (v - self.domain.center)
        return torch.full_like(v, -self.slope)


def branch_and_bound(
    tape: Tape,
    domain: Domain,
    best: Tensor,
    tolerance: float,
    budget: int,
    tidy: Ascent | None = None,
    enough: float = math.inf,
    deadline: Deadline | None = None,
) -> Bounded:
    """Split until no box can hold a point more than ``tolerance`` above the best one, or the budget of boxes is spent.

    ``best`` is a point of the set, (n,). ``tidy`` moves a new best point uphill. A value beyond ``enough`` ends the
    search before its time.
    """
    search = _Search(tape, domain, best, tolerance, tidy)
    low, high = domain.low.unsqueeze(0), domain.high.unsqueeze(0)
    low, high, upper, axis = search.bounds(*search.parted(low, high))
    while upper.numel() and search.boxes < budget and search.value <= enough:
        if deadline is not None:
            deadline.check()
        order = upper.argsort(descending=True)
        now, later = order[:_AT_ONCE], order[_AT_ONCE:]
        parts = search.split(low[now], high[now], axis[now])
        found = search.bounds(*search.parted(*parts))
        low, high, upper, axis = (
            torch.cat([old[later], new]) for old, new in zip((low, high, upper, axis), found, strict=True)
        )
        is_open = upper > search.value + tolerance
        if bool((~is_open).any()):
            search.closed = max(search.closed, float(upper[~is_open].amax()))
        low, high, upper, axis = low[is_open], high[is_open], upper[is_open], axis[is_open]
    rest = float(upper.amax()) if upper.numel() else -math.inf
    return Bounded(search.best, search.value, max(search.value, search.closed, rest), search.boxes)


class _Search:
    def __init__(self, tape: Tape, domain: Domain, best: Tensor, tolerance: float, tidy: Ascent | None) -> None:
        self.tape, self.domain, self.tolerance, self.tidy = tape, domain, tolerance, tidy
        self.frame = Frame(domain.low.numel(), 2)
        self.boxes = 0
        self.closed = -math.inf
        self.best, self.value = best, -math.inf
        self.multiplier = _Multiplier(0.0, 0.0, domain)
        self._take(best)

    def _take(self, point: Tensor) -> None:
        """A new best point, with its multiplier."""
        jet = enclose(self.tape, point.unsqueeze(0), point.unsqueeze(0), 1)
        self.best, self.value = point, float(jet.low[0, 0])
        g, domain = jet.low[0, 1:], self.domain
        curvature = slope = 0.0
        if domain.center is not None:
            offset = point - domain.center
            if float(offset.norm()) >= domain.radius * (1 - 1e-9):
                curvature = max(0.0, float(g @ offset)) / domain.radius**2
        elif domain.is_simplex and float(point.sum()) >= 1 - 1e-9:
            slope = max(0.0, float((g * point).sum()))
        self.multiplier = _Multiplier(curvature, slope, domain)

    def _offer(self, points: Tensor, values: Tensor) -> None:
        """Take the highest of some points of the set, if it is higher than the best one."""
        values = values.nan_to_num(-math.inf)
        at = int(values.argmax())
        if float(values[at]) > self.value + 0.1 * self.tolerance:
            point = points[at]
            if self.tidy is not None:
                higher = self.tidy(point)
                value = float(enclose(self.tape, higher.unsqueeze(0), higher.unsqueeze(0), 0).low[0, 0])
                point = higher if value > float(values[at]) else point
            self._take(point)

    def _inside(self, points: Tensor) -> Tensor:
        """Points pulled into the set."""
        domain = self.domain
        if domain.center is not None:
            offset = points - domain.center
            length = offset.norm(dim=1, keepdim=True)
            return torch.where(length > domain.radius, domain.center + offset * (domain.radius / length), points)
        if domain.is_simplex:
            return points / points.sum(1, keepdim=True).clamp(min=1.0)
        return points

    def bounds(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The boxes that may hold a higher point, perhaps smaller, their bounds and the axis to split them along."""
        reached = self.domain.reached(low, high)
        low, high = low[reached], high[reached]
        n, count = self.frame.n, low.shape[0]
        self.boxes += count
        if count == 0:
            return low, high, low.new_zeros(0), torch.zeros(0, dtype=torch.int64)
        jet = enclose(self.tape, low, high, 2)
        value, g, bends = jet.value, jet.gradient(self.frame), jet.bends(self.frame)
        middle = _middle(low, high, self.best)
        around = [middle, self.best.clamp(min=low, max=high)]
        inside = self._inside(middle)
        points = torch.cat([*around, inside])
        at = enclose(self.tape, points, points, 1)
        self._offer(inside, at.low[2 * count :, 0])
        rows, columns = self.frame.pairs
        H_low, H_high = (symmetric(part, rows, columns, n) for part in bends)
        m = self.multiplier
        upper = value.high
        if m.curvature or m.slope:
            # The added part is largest where its own point of the box is nearest.
            top = low if self.domain.center is None else self.domain.center.clamp(min=low, max=high)
            upper = torch.minimum(upper, value.high + m.value(top))
        curvature = separable_bounds(H_low, H_high, high - low, m.curvature)
        for k, q in enumerate(around):
            here = slice(k * count, (k + 1) * count)
            value_q = at.high[here, 0]
            # At a kink on the side of a box only the slopes on this side of it count.
            g_low, g_high = torch.maximum(at.low[here, 1:], g.low), torch.minimum(at.high[here, 1:], g.high)
            below, above = low - q, high - q
            rise = torch.maximum(zero_times(g.high, above), zero_times(g.low, below)).sum(1)
            upper = torch.minimum(upper, (value_q + rise).nan_to_num(math.inf))
            value_q, added = value_q + m.value(q), m.gradient(q)
            for d in curvature:
                rise = parabola_rise(g_low + added, g_high + added, d, below, above).sum(1)
                upper = torch.minimum(upper, (value_q + rise).nan_to_num(math.inf))
        axis = _axis(low, high, g.high, g.low, H_high)
        if self.domain.is_box:
            low, high, upper, axis = self._reduced(low, high, upper, axis, g.low, g.high, H_low)
        return low, high, upper, axis

    def _reduced(
        self, low: Tensor, high: Tensor, upper: Tensor, axis: Tensor, g_low: Tensor, g_high: Tensor, H_low: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Where the function rises along an axis, only the upper side of the box counts; if it is inside of the set,
        the box next to it counts in its place. Where it is convex along an axis, only both sides count (axis + n).
        """
        wide = high > low
        rises, falls = wide & (g_low > 0), wide & (g_high < 0)
        outer_low, outer_high = self.domain.low, self.domain.high
        is_gone = ((rises & (high < outer_high)) | (falls & (low > outer_low))).any(1)
        new_low = torch.where(rises & high.isfinite(), high, low)
        new_high = torch.where(falls & low.isfinite(), low, high)
        is_wide = (new_high > new_low) & new_low.isfinite() & new_high.isfinite()
        is_convex = (H_low.diagonal(dim1=1, dim2=2) >= 0) & is_wide
        n = self.frame.n
        axis = torch.where(is_convex.any(1), n + is_convex.to(torch.int64).argmax(1), axis)
        kept = ~is_gone
        return new_low[kept], new_high[kept], upper[kept], axis[kept]

    def parted(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """A few boxes split until they are more: to look at few costs as much as to look at many."""
        while 0 < low.shape[0] <= _AT_LEAST:
            low, high = self.split(low, high, (high - low).argmax(1))
        return low, high

    def split(self, low: Tensor, high: Tensor, axis: Tensor) -> tuple[Tensor, Tensor]:
        """Two halves of each box along its axis, or its two sides. A box that is a point is closed."""
        n = self.frame.n
        rows = torch.arange(low.shape[0])
        sides, which = axis >= n, axis % n
        middle = _middle(low, high, self.best)[rows, which]
        first_high, second_low = high.clone(), low.clone()
        first_high[rows, which] = torch.where(sides, low[rows, which], middle)
        second_low[rows, which] = torch.where(sides, high[rows, which], middle)
        return torch.cat([low, second_low]), torch.cat([first_high, high])


def _middle(low: Tensor, high: Tensor, best: Tensor) -> Tensor:
    """A point inside each box; of a box without an end, one that doubles the distance."""
    centre = 0.5 * (low + high)
    upwards = low + low.abs().clamp(min=1.0)
    downwards = high - high.abs().clamp(min=1.0)
    both = best.expand_as(low)
    ended = torch.where(low.isfinite(), torch.where(high.isfinite(), centre, upwards), downwards)
    return torch.where(low.isfinite() | high.isfinite(), ended, both)


def _axis(low: Tensor, high: Tensor, g_high: Tensor, g_low: Tensor, H_high: Tensor) -> Tensor:
    """The axis along which the bound loses most."""
    width = high - low
    slope = torch.maximum(g_high, -g_low).clamp(min=0.0, max=1e150)
    bend = H_high.diagonal(dim1=1, dim2=2).abs().clamp(max=1e150)
    loss = width * slope + width.square() * bend
    # Sides without an end come first; where nothing is known, the longest.
    loss = torch.where(width.isinf(), math.inf, loss + 1e-9 * width * (1 + slope))
    return torch.where(width > 0, loss, -1.0).nan_to_num(0.0).argmax(1)
