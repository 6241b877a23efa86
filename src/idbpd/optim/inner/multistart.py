"""Where else the maximum of a function of few variables may lie: points to start a local ascent from.

A certificate rests on the global maximum, and semi-infinite programs have functions of w with several local ones. In
up to three dimensions a grid finds every peak wider than its spacing; beyond that a fixed set of scattered points and
corners is the check.
"""

import itertools
from functools import lru_cache
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from idbpd.optim.device_reads import is_here, number, read, truth
from idbpd.optim.sets import Ball, Box, Simplex, Space
from idbpd.optim.sets.base import ConvexSet

_GRID = {1: 129, 2: 21, 3: 9}  # points per axis when the function takes a batch: a few hundred in all, one call
_COARSE_GRID = {1: 33, 2: 9, 3: 5}  # and when it takes them one by one
_SCATTERED = 64  # points, beyond three dimensions: no number covers them, so that few must do
_STARTS = 4  # peaks that are climbed, the highest first: each costs an ascent at every evaluation
_SOBOL_AXES = 200  # beyond, Sobol points fill a space no better than random ones
_MOST_NUMBERS = 4_000_000  # in the points of one look: 32 megabytes
# How far to look from the point at hand along an unbounded direction, in units of its size. What is further away only
# a proof can find.
_WINDOW = 10.0


class Valued(Protocol):
    """A function that is known at many points at once."""

    def values(self, points: Tensor, batched: bool) -> Tensor:
        """The values at a batch of points."""
        ...


def promising_starts(
    f: Valued, over: ConvexSet, point: Tensor, *, value: float, margin: float, batched: bool
) -> list[Tensor]:
    """Points from which an ascent may end more than ``margin`` above ``value``, known at ``point``; the best first."""
    axes = _axes(over)
    if axes not in _GRID:
        points = over.project(_scattered(over, point, _SCATTERED if batched else _SCATTERED // 4))
        (values,) = read(_comparable(f.values(points, batched)))
        order = values.argsort(descending=True)[:2].tolist()
        return [points[i] for i in order if number(values[i]) > value + margin]
    points, shape, spacing = _covering(over, point, (_GRID if batched else _COARSE_GRID)[axes])
    is_beside = ((points - point).abs() <= 1.01 * spacing).reshape(points.shape[0], -1).all(dim=1)
    values, is_beside = read(_comparable(f.values(points, batched)), is_beside)
    higher, lower = (extreme.flatten() for extreme in _neighbourhood_extremes(values.reshape(shape)))
    # A peak between grid points rises above them by no more than values vary around it; what cannot win is not climbed.
    hopeful = (values == higher) & (values + (higher - lower) > value + margin)
    # Nor is the peak that the point itself is on.
    hopeful &= ~is_beside.bool() | (values > value + margin)
    order = torch.where(hopeful, values, -torch.inf).argsort(descending=True)[:_STARTS].tolist()
    return [points[i] for i in order if truth(hopeful[i])]


def grid_peaks(f: Valued, over: ConvexSet, like: Tensor, most: int) -> list[Tensor]:
    """The points of a grid that are higher than all around them, the highest first; none without a grid."""
    axes = _axes(over)
    if axes not in _GRID or not over.is_bounded:
        return []
    points, shape, _ = _covering(over, like, _GRID[axes])
    (values,) = read(_comparable(f.values(points, True)))
    higher, lower = (extreme.flatten() for extreme in _neighbourhood_extremes(values.reshape(shape)))
    is_peak = (values == higher) & (higher > lower)
    order = torch.where(is_peak, values, -torch.inf).argsort(descending=True)[:most].tolist()
    return [points[i] for i in order if truth(is_peak[i])]


def spread_points(over: ConvexSet, like: Tensor, count: int) -> Tensor:
    """Points all over a set, (count, *shape), fewer where they are large: Sobol points of a window, pulled into the
    set, and half of them pushed to its boundary.
    """
    n = like.numel()
    count = max(2, min(count, _MOST_NUMBERS // n))
    if n <= _SOBOL_AXES:
        shares = _sobol(n, count)
    else:
        generator = torch.Generator().manual_seed(1)
        shares = torch.rand(count, n, generator=generator, dtype=torch.float64)
    shares = shares.to(like.device)
    if isinstance(over, (Box, Space)):
        low, high = (bound.flatten().double() for bound in _window(over, like))
        return over.project((low + shares * (high - low)).to(like).reshape(count, *like.shape))
    directions = torch.special.ndtri(shares.clamp(1e-6, 1 - 1e-6)).to(like).reshape(count, *like.shape)
    centre = over.centre(like)
    ends = over.support(directions) if over.is_bounded else over.project(centre + directions)
    reach = torch.linspace(0.0, 1.0, count, dtype=like.dtype, device=like.device).reshape(-1, *(1,) * like.dim())
    # Of each point, a share of the way from the centre to the boundary; every other one is on it.
    reach = torch.where((torch.arange(count, device=like.device) % 2 == 0).reshape(reach.shape), 1.0, reach)
    inside = over.project(centre + reach * (ends - centre))
    if not isinstance(over, Simplex):
        return inside
    weights = -shares.clamp(min=1e-12).log()
    even = (weights / weights.sum(1, keepdim=True)).to(like)
    return torch.where((torch.arange(count, device=like.device) % 2 == 0).unsqueeze(1), even, inside)


@lru_cache(maxsize=16)  # the generator itself takes longer to make than most functions to evaluate
def _sobol(n: int, count: int) -> Tensor:
    engine = torch.quasirandom.SobolEngine(n, scramble=True, seed=1)  # type: ignore[no-untyped-call]
    return engine.draw(count, dtype=torch.float64)


def can_search(over: ConvexSet) -> bool:
    """Whether this kind of set can be covered with points."""
    return isinstance(over, (Ball, Box, Simplex, Space)) and _axes(over) > 0


def _axes(over: ConvexSet) -> int:
    return over.dimension - 1 if isinstance(over, Simplex) else over.dimension


def _window(over: ConvexSet, point: Tensor) -> tuple[Tensor, Tensor]:
    """A bounded box around the set, or its part around ``point``; for the simplex, in all coordinates but the last."""
    match over:
        case Simplex():
            return torch.zeros_like(point)[..., 1:], torch.ones_like(point)[..., 1:]
        case Ball():
            center = over.center.to(point)
            return center - over.radius, center + over.radius
        case Box():
            low, high = over.low.to(point), over.high.to(point)
            reach = _WINDOW * (1.0 + point.abs())
            return torch.where(low.isinf(), point - reach, low), torch.where(high.isinf(), point + reach, high)
        case _:
            reach = _WINDOW * (1.0 + point.abs())
            return point - reach, point + reach


def _covering(over: ConvexSet, point: Tensor, per_axis: int) -> tuple[Tensor, torch.Size, Tensor]:
    """The points of a grid over a set, the lengths of its axes, and its widest spacing."""
    if over.is_bounded and is_here(point) and point.dtype == torch.float64:
        return _fixed_covering(over, per_axis)
    grid, spacing = _grid(over, point, per_axis)
    return over.project(grid).reshape(-1, *over.shape), grid.shape[: _axes(over)], spacing


@lru_cache(maxsize=32)  # asked for at every x
def _fixed_covering(over: ConvexSet, per_axis: int) -> tuple[Tensor, torch.Size, Tensor]:
    grid, spacing = _grid(over, over.centre(torch.zeros((), dtype=torch.float64)), per_axis)
    return over.project(grid).reshape(-1, *over.shape), grid.shape[: _axes(over)], spacing


def _grid(over: ConvexSet, point: Tensor, per_axis: int) -> tuple[Tensor, Tensor]:
    """A grid over the window, its axes first, and its widest spacing. Projected, neighbours stay neighbours."""
    low, high = (bound.flatten() for bound in _window(over, point))
    ticks = torch.linspace(0.0, 1.0, per_axis, dtype=point.dtype, device=point.device)
    mesh = torch.stack(torch.meshgrid(*[ticks] * low.numel(), indexing="ij"), dim=-1)
    return _complete(over, low + mesh * (high - low)), (high - low).amax() / (per_axis - 1)


def _scattered(over: ConvexSet, point: Tensor, count: int) -> Tensor:
    """Corners, and a sequence of points that fills the window evenly: multiples of irrational numbers, modulo one."""
    low, high = (bound.flatten() for bound in _window(over, point))
    n = low.numel()
    primes = itertools.islice((k for k in itertools.count(2) if all(k % j for j in range(2, int(k**0.5) + 1))), n)
    steps = torch.tensor([k**0.5 % 1.0 for k in primes], dtype=torch.float64)
    shares = torch.outer(torch.arange(1, count + 1, dtype=torch.float64), steps) % 1.0
    shares = torch.cat([shares, shares.round()]).to(low)
    return _complete(over, low + shares * (high - low))


def _complete(over: ConvexSet, flat: Tensor) -> Tensor:
    if isinstance(over, Simplex):
        return torch.cat([flat, 1.0 - flat.sum(dim=-1, keepdim=True)], dim=-1)
    return flat.reshape(*flat.shape[:-1], *over.shape)


def _comparable(values: Tensor) -> Tensor:
    """Values to compare: what is not a number cannot win."""
    return values.nan_to_num(nan=-torch.finfo(values.dtype).max, neginf=-torch.finfo(values.dtype).max)


def _neighbourhood_extremes(values: Tensor) -> tuple[Tensor, Tensor]:
    """The largest and smallest value among a grid point and its neighbours."""
    pool = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}[values.dim()]
    batch = values[None, None]
    higher = pool(batch, kernel_size=3, stride=1, padding=1)[0, 0]
    lower = -pool(-batch, kernel_size=3, stride=1, padding=1)[0, 0]
    return higher, lower
