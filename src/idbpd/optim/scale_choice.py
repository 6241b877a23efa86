"""In which units a run computes: the sizes of variables and functions, by their gradients at the start and around it.

An objective or a constraint that is small everywhere would meet an absolute tolerance at the start. Variables of very
different size make steps in a round metric useless, and hide large improvements behind small gradients. Nothing is
scaled that looks ordinary.
"""

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, read
from idbpd.optim.method import Iterate
from idbpd.optim.oracle import Oracle, TermOracle, bounds_of
from idbpd.optim.scaling import Scaling, power_of_two

_TINY = 1e-3  # slope below which a function may be small: a thousand times the default tolerance
_ROUNDING = 1e-14  # slope that may be rounding: some fifty times that of one
# Looks around the start, and how far in units of x: a slope may vanish by chance at one point, not at five.
_PROBES, _AROUND = 4, 0.1
# Ratio of the slopes along two variables beyond which their sizes are looked at. L-BFGS copes with less.
_UNEVEN = 1e3
_MOST_VARIABLES = 100  # whose sizes are looked at: each costs a gradient
# Share of the largest change among the terms: a term that changes by less has no say about sizes.
_LEAST_CHANGE = 1e-6
# Share of the size of a variable over which gradients are compared: rounding is 1e-13 of it, and sizes are powers of
# two, so that a derivative right to a few digits will do.
_NEAR = 1e-3


def choose_scaling(oracle: Oracle, x: Tensor, first: Iterate, x_scale: Tensor | None, is_relative: bool) -> Scaling:
    """The units for a run from ``x``, where ``first`` is what the unscaled problem says there.

    ``x_scale`` is the user's word on sizes. Where the tolerance ``is_relative``, the objective gets the slope one.
    """
    # Looking would wait for a device, and in float32 rounding leaves no room for a stricter test.
    can_look = is_here(x) and x.dtype == torch.float64
    size = None if x_scale is None else torch.exp2(x_scale.log2().round())
    if size is None and can_look:
        size = _sizes_of_variables(oracle, x, first)
    if not can_look and not is_relative:
        return Scaling(x=size)
    steepest, is_tiny = _steepest(oracle, x, first, size)
    factors = [
        power_of_two(1 / slope) if slope > _ROUNDING and (tiny or (is_relative and term == 0)) else 1.0
        for term, (slope, tiny) in enumerate(zip(steepest, is_tiny, strict=True))
    ]
    chosen = Scaling(factors[0], tuple(factors[1:]), size, is_relative)
    return Scaling(is_relative=is_relative) if chosen.is_plain else chosen


def _slopes(iterate: Iterate, size: Tensor | None) -> list[float]:
    """The length of the gradient of every term; infinite where it is not finite."""
    rows = iterate.gradients.rows.double()
    lengths = torch.linalg.vector_norm(rows if size is None else rows * size, dim=1)
    found: list[float] = read(lengths.nan_to_num(torch.inf, torch.inf))[0].tolist()
    return found


def _steepest(oracle: Oracle, x: Tensor, first: Iterate, size: Tensor | None) -> tuple[list[float], list[bool]]:
    """The slope of every term, and whether it is tiny at the start and around it. Factors of tiny ones are above 1, so
    that no residual is called smaller than it is.
    """
    steepest = _slopes(first, size)
    is_tiny = [slope < _TINY for slope in steepest]
    unit = x.new_ones(x.shape) if size is None else size
    for seed in range(_PROBES):
        if not any(is_tiny):
            break
        found = _looked(oracle, x + _AROUND * (unit + x.abs()) * _random(x, seed), first, size)
        steepest = [max(pair) if tiny else pair[0] for *pair, tiny in zip(steepest, found, is_tiny, strict=True)]
        is_tiny = [tiny and slope < _TINY for tiny, slope in zip(is_tiny, found, strict=True)]
    return steepest, is_tiny


def _sizes_of_variables(oracle: Oracle, x: Tensor, first: Iterate) -> Tensor | None:
    """A size per variable where they are very different: over it the terms change by about one, or turn round."""
    rows = first.gradients.rows.double()
    d = x.numel()
    if not 1 < d <= _MOST_VARIABLES or not bool(rows.isfinite().all()):
        return None
    slopes = rows.abs()
    is_suspect = any(_is_uneven(some) for some in (slopes.amax(0), *slopes))
    if not is_suspect or not isinstance(oracle, TermOracle):
        return None
    steepness = _steepness(oracle, x, first, rows)
    if not _is_uneven(steepness):
        return None
    is_known = steepness > 0
    middle = steepness[is_known].log().mean().exp()
    return torch.exp2((-torch.where(is_known, steepness, middle).log2()).round())


def _steepness(oracle: TermOracle, x: Tensor, first: Iterate, rows: Tensor) -> Tensor:
    """One over the length of each variable: that over which a term changes as much as it does over others, by its slope
    or by its curvature.
    """
    points, bounds = first.evaluation.maximisers.points, bounds_of(oracle)
    bends = torch.zeros_like(rows)
    slopes, places = rows.abs().amax(0).tolist(), x.abs().tolist()
    for i, (slope, place) in enumerate(zip(slopes, places, strict=True)):
        step = torch.zeros_like(x)
        step[i] = _NEAR * (place or (min(1.0, 1.0 / slope) if slope > 0 else 1.0))
        step = step if bounds is None or bool(x[i] + step[i] <= bounds.high[i]) else -step
        _, there = oracle.linearise(x + step, range(len(points)), points)
        change = (there[:, i] - rows[:, i]).abs()
        is_seen = change.isfinite() & (change > 1e-12 * rows[:, i].abs())
        bends[:, i] = torch.where(is_seen, change / step[i].abs(), 0.0)
    # By how much each term changes over one length of the variables: a quadratic tells, a linear one by its value.
    turns = torch.where(bends > 0, rows.square() / bends, 0.0).amax(1)
    values = torch.cat([first.evaluation.f.reshape(1), first.evaluation.g]).abs()
    least = _LEAST_CHANGE * torch.maximum(turns, values).amax()
    is_bent = (bends > 0).any(1)
    change = torch.where(is_bent, torch.maximum(turns, least), values).unsqueeze(1)
    steepness = torch.maximum(rows.abs() / change, (bends / change).sqrt())
    return torch.where((change >= least) & steepness.isfinite(), steepness, 0.0).amax(0)


def _is_uneven(slopes: Tensor) -> bool:
    some = slopes[slopes > 0]
    return some.numel() > 1 and float(some.amax()) > _UNEVEN * float(some.amin())


def _looked(oracle: Oracle, x: Tensor, first: Iterate, size: Tensor | None) -> list[float]:
    """The slopes at another point."""
    bounds = bounds_of(oracle)
    evaluation = oracle.evaluate(x if bounds is None else bounds.project(x), first.evaluation.maximisers)
    return _slopes(first._replace(gradients=oracle.differentiate(evaluation)), size)


def _random(like: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(like.numel(), generator=generator, dtype=torch.float64).to(like)
