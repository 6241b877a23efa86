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

_TINY = 1e-4  # slope below which a function may be small
_LARGEST = 1e15  # factor
_PROBES = 4
_UNEVEN = 1e3  # ratio of the slopes along two variables beyond which their sizes are looked at
_MOST_VARIABLES = 100  # whose sizes are looked at
_NEAR, _FAR = 1e-3, 0.5  # shares of a variable's size: for a second derivative, and for a look around


def choose_scaling(oracle: Oracle, x: Tensor, first: Iterate, x_scale: Tensor | None, is_relative: bool) -> Scaling:
    """The units for a run from ``x``, where ``first`` is what the unscaled problem says there.

    ``x_scale`` is the user's word on sizes. Where the tolerance ``is_relative``, all slopes at the start become one.
    """
    if x_scale is not None:
        size: Tensor | None = torch.exp2(x_scale.log2().round())
    else:
        size = _sizes_of_variables(oracle, x, first)
    # Looking would wait for a device, and in float32 rounding leaves no room for a stricter test.
    can_look = is_here(x) and x.dtype == torch.float64
    slopes = _slopes(first, size) if is_relative or can_look else [1.0]
    if is_relative:
        factors = [power_of_two(min(max(1 / slope, 1 / _LARGEST), _LARGEST)) if slope > 0 else 1.0 for slope in slopes]
    else:
        factors = _factors(oracle, x, first, size, slopes) if can_look else [1.0]
    chosen = Scaling(factors[0], tuple(factors[1:]), size, is_relative)
    return Scaling() if chosen.is_plain else chosen


def _slopes(iterate: Iterate, size: Tensor | None) -> list[float]:
    """The length of the gradient of every term; infinite where it is not finite."""
    rows = iterate.gradients.rows.double()
    lengths = torch.linalg.vector_norm(rows if size is None else rows * size, dim=1)
    found: list[float] = read(lengths.nan_to_num(torch.inf, torch.inf))[0].tolist()
    return found


def _factors(oracle: Oracle, x: Tensor, first: Iterate, size: Tensor | None, slopes: list[float]) -> list[float]:
    """Above 1 for terms whose slopes are all tiny, so that no residual is called smaller than it is."""
    factors = [1.0] * len(slopes)
    # Exactly 0 is a stationary point, or a term that does not matter.
    tiny = {term for term, slope in enumerate(slopes) if 0.0 < slope < _TINY}
    steepest = list(slopes)
    unit = x.new_ones(x.shape) if size is None else size
    for seed in range(_PROBES):
        if not tiny:
            return factors
        found = _looked(oracle, x + (unit + x.abs()) * _random(x, seed), first, size)
        tiny = {term for term in tiny if found[term] < _TINY}
        steepest = [max(pair) for pair in zip(steepest, found, strict=True)]
    for term in tiny:
        factors[term] = power_of_two(min(1.0 / steepest[term], _LARGEST))
    return factors


def _sizes_of_variables(oracle: Oracle, x: Tensor, first: Iterate) -> Tensor | None:
    """A size per variable where they are very different: over it the terms change by about one, or turn round."""
    rows = first.gradients.rows.double()
    d = x.numel()
    if not is_here(x) or x.dtype != torch.float64 or not 1 < d <= _MOST_VARIABLES or not bool(rows.isfinite().all()):
        return None
    slopes = rows.abs().amax(0)
    if not _is_uneven(slopes) or not isinstance(oracle, TermOracle):
        return None
    points, bounds = first.evaluation.maximisers.points, bounds_of(oracle)
    changes = torch.zeros_like(slopes)
    for i in (slopes > 0).nonzero().flatten().tolist():
        step = torch.zeros_like(x)
        step[i] = _NEAR / slopes[i]
        step = step if bounds is None or bool(x[i] + step[i] <= bounds.high[i]) else -step
        _, there = oracle.linearise(x + step, range(len(points)), points)
        bend = (there[:, i] - rows[:, i]).abs().amax() / step[i].abs()
        changes[i] = bend.sqrt() if bool(bend.isfinite()) else 0.0
    steepness = torch.maximum(slopes, changes)
    if not _is_uneven(steepness):
        return None
    is_known = steepness > 0
    middle = steepness[is_known].log().mean().exp()
    steepness = torch.where(is_known, steepness, middle)
    for seed in range(2):
        there = x + _FAR / steepness * _random(x, seed)
        there = there if bounds is None else bounds.project(there)
        found = oracle.differentiate(oracle.evaluate(there, first.evaluation.maximisers)).rows.abs().amax(0)
        # A variable along which something far steeper is near is smaller than it seemed.
        steepness = torch.where((found > _UNEVEN * steepness) & found.isfinite(), found, steepness)
    return torch.exp2((-steepness.log2()).round())


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
