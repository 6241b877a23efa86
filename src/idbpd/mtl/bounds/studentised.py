r"""A one-sided bound of a mean from few, skewed values: the studentised bootstrap with one more bad value.

With mean v and standard error s of the values, and v*, s* those of a draw with replacement, the bound is

.. math:: v - t s, \qquad t \text{ the } (1 - \text{confidence}) \text{ quantile of } (v^* - v) / s^* .

A draw that misses the large values has a low v* and a low s*, hence a t far below zero: that is what makes the bound
wide where values are skewed (Hall 1988). No draw shows a tail that was not sampled at all. So one value is added first,
as far above the mean as the farthest value is from it on either side: the next sample may be as extreme as the most
extreme one so far, and in the bad direction.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from idbpd.mtl.bounds.confidence import check_confidence

LEAST_RESAMPLES = 2000
# For a high confidence there are as many draws as put this number beyond the quantile, at most as many as memory
# allows: 80 MB a copy.
DRAWS_BEYOND = 20
MOST_RESAMPLES = 50_000


def studentised_upper(
    values: Tensor, *, confidence: float, seed: int = 0, one_more: bool = True, at_least: Tensor | None = None
) -> Tensor:
    """The upper bound of the mean of ``values`` (..., m): one per row, by the same draws for all rows.

    ``at_least`` (...,) is a lower bound of the added value, known from other samples. ``one_more=False`` adds no value,
    to measure the effect of it.
    """
    check_confidence(confidence)
    if one_more:
        center = values.mean(dim=-1)
        more = center + (values - center[..., None]).abs().amax(dim=-1)
        more = more if at_least is None else torch.maximum(more, at_least)
        values = torch.cat([values, more[..., None]], dim=-1)
    m = values.shape[-1]
    resamples = min(max(LEAST_RESAMPLES, math.ceil(DRAWS_BEYOND / (1 - confidence))), MOST_RESAMPLES)
    counts = _counts(m, resamples, seed)
    mean = values.mean(dim=-1, keepdim=True)
    centred = values - mean
    of_draws = centred @ counts / m
    spread_of_draws = ((centred**2) @ counts / m - of_draws**2).clamp(min=0).sqrt()
    spread = (centred**2).mean(dim=-1).sqrt()
    # A draw of equal values has no spread. Below the mean it says that anything is possible; at the mean, nothing.
    tiny = torch.finfo(values.dtype).tiny
    t = (of_draws / spread_of_draws.clamp(min=tiny)).clamp(min=-1e12, max=1e12)
    # The lower of the two neighbours of the quantile: it gives the larger bound.
    quantile = t.quantile(1 - confidence, dim=-1, interpolation="lower")
    return mean.squeeze(-1) - quantile * spread


@lru_cache(maxsize=4)  # a ratio is found by some seventy bounds, of the same draws
def _counts(m: int, resamples: int, seed: int) -> Tensor:
    """How often every value is in every draw: (m, resamples)."""
    draws = torch.randint(m, (m, resamples), generator=torch.Generator().manual_seed(seed))
    counts = torch.zeros(m, resamples, dtype=torch.float64)
    return counts.scatter_add_(0, draws, torch.ones_like(counts))
