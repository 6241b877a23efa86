"""Upper bounds of a worst case on unseen data, alone or against another model on the same samples."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.errors import DataError
from idbpd.mtl.bounds.jackknife import pseudo_values
from idbpd.mtl.bounds.studentised import studentised_upper
from idbpd.mtl.worst_cases import WorstCase, worst_weighting

# A worst case that fewer samples carry is decided by the one or two that happened to be drawn: no bound is given.
LEAST_CARRIERS = 5.0
# Where even this ratio is possible, nothing useful is known of it.
LARGEST_RATIO = 1e6


class WorstCaseBound(NamedTuple):
    """A worst case measured on test samples, and what it is at most on the data they come from."""

    value: float
    bound: float  # infinite where the samples cannot tell
    carriers: float  # how many samples carry it: 1 / sum of the squares of the worst weights


class PairedBounds(NamedTuple):
    """Two models on the same samples: the worst case of the first minus (1 + slack) that of the second, and the ratio.

    The bound of the difference is at most 0 just where that of the ratio is at most 1 + slack.
    """

    difference: float
    difference_bound: float
    ratio: float
    ratio_bound: float
    carriers: float  # the fewer of both models


def worst_case_bound(
    losses: Tensor,
    worst_case: WorstCase,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    least_carriers: float = LEAST_CARRIERS,
) -> WorstCaseBound:
    """The bound of the worst case of the distribution that ``losses`` were drawn from, independently."""
    value, carriers = _measured(losses, worst_case)
    if not carriers >= min(least_carriers, len(losses)):
        return WorstCaseBound(value, math.inf, carriers)
    bound = studentised_upper(pseudo_values(losses, worst_case, seed=seed), confidence=confidence, seed=seed).item()
    return WorstCaseBound(value, max(value, bound), carriers)


def paired_bootstrap(
    losses: Tensor,
    alone: Tensor,
    worst_case: WorstCase,
    *,
    slack: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    least_carriers: float = LEAST_CARRIERS,
) -> PairedBounds:
    """How much worse a model is than another, made for the task alone; entry i of both losses is the same sample.

    What is hard for both models cancels, so that far fewer samples show a relative limit than an absolute one.
    """
    if losses.shape != alone.shape:
        raise DataError(f"both models need losses of the same samples, got {len(losses)} and {len(alone)}")
    (value, carriers), (reference, carriers_alone) = _measured(losses, worst_case), _measured(alone, worst_case)
    difference = value - (1 + slack) * reference
    ratio = value / reference if reference > 0 else math.inf
    fewest = min(carriers, carriers_alone)
    if not fewest >= min(least_carriers, len(losses)):
        return PairedBounds(difference, math.inf, ratio, math.inf, fewest)
    ours, theirs = (pseudo_values(each, worst_case, seed=seed) for each in (losses, alone))
    bound = studentised_upper(ours - (1 + slack) * theirs, confidence=confidence, seed=seed).item()
    ratio_bound = ratio_upper(ours, theirs, confidence=confidence, seed=seed).item()
    return PairedBounds(difference, max(difference, bound), ratio, max(ratio, ratio_bound), fewest)


def ratio_upper(ours: Tensor, theirs: Tensor, *, confidence: float, seed: int = 0) -> Tensor:
    """The smallest ratio r at which the bound of the mean of ``ours - r theirs`` is at most 0 (Fieller 1954).

    One per row of the pseudo-values; infinite where the mean of ``theirs`` may be 0.
    """

    def is_possible(ratio: Tensor) -> Tensor:
        return studentised_upper(ours - ratio[..., None] * theirs, confidence=confidence, seed=seed) > 0

    low = torch.zeros(ours.shape[:-1], dtype=ours.dtype)
    high = torch.ones_like(low)
    while bool((growing := is_possible(high) & (high < LARGEST_RATIO)).any()):
        low, high = torch.where(growing, high, low), torch.where(growing, 2 * high, high)
    for _ in range(50):
        middle = (low + high) / 2
        possible = is_possible(middle)
        low, high = torch.where(possible, middle, low), torch.where(possible, high, middle)
    return torch.where(high < LARGEST_RATIO, high, torch.inf)


def _measured(losses: Tensor, worst_case: WorstCase) -> tuple[float, float]:
    """The worst case, and how many samples carry it."""
    weights, value = worst_weighting(losses, worst_case)
    return value.item(), 1 / (weights**2).sum().item()
