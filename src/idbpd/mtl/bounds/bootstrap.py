"""Upper bounds of a worst case on unseen data, alone or against another model on the same samples."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.errors import DataError
from idbpd.mtl.bounds.jackknife import pseudo_values, random_blocks, value_with_another_loss
from idbpd.mtl.bounds.studentised import studentised_upper
from idbpd.mtl.worst_cases import WorstCase, worst_weighting

# A worst case that fewer samples carry is decided by the one or two that happened to be drawn: no bound is given.
LEAST_CARRIERS = 5.0
# A bound of a ratio above this is given as infinite.
LARGEST_RATIO = 1e6
ROUNDING = 1e-6  # a bound may exceed the largest loss by this share: that of equal losses does, by rounding
HALVINGS = 40  # of an interval as long as the ratio, or of length one: to 1e-12 of it


class WorstCaseBound(NamedTuple):
    """A worst case measured on test samples, and what it is at most on the data they come from."""

    value: float
    bound: float  # infinite where the samples are too few
    carriers: float  # how many samples carry it: 1 / sum of the squares of the worst weights


class PairedBounds(NamedTuple):
    """Two models on the same samples: the worst case of the first minus (1 + slack) that of the second, and the ratio.

    The bound of the difference is at most 0 exactly where that of the ratio is at most 1 + slack.
    """

    difference: float
    difference_bound: float
    ratio: float
    ratio_bound: float
    carriers: float  # the smaller number of the two models


def worst_case_bound(
    losses: Tensor,
    worst_case: WorstCase,
    *,
    training: Tensor | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    least_carriers: float = LEAST_CARRIERS,
) -> WorstCaseBound:
    """The bound of the worst case of the distribution that ``losses`` were drawn from, independently.

    ``training`` are the losses of the model on other samples. A loss that one sample in a hundred has is often missing
    among a hundred test samples. So the next test sample is assumed to have the largest loss of both parts.
    """
    value, carriers = _measured(losses, worst_case)
    if carriers < min(least_carriers, len(losses)):
        return WorstCaseBound(value, math.inf, carriers)
    blocks = random_blocks(len(losses), seed=seed)
    values = pseudo_values(losses, worst_case, blocks)
    sample = int(losses.argmax())
    largest = max(losses[sample].item(), -math.inf if training is None else training.max().item())
    more = value_with_another_loss(losses, worst_case, blocks, values, sample, largest)
    bound = studentised_upper(values, confidence=confidence, seed=seed, at_least=more).item()
    return WorstCaseBound(value, max(value, _useful(bound, largest)), carriers)


def paired_bootstrap(
    losses: Tensor,
    alone: Tensor,
    worst_case: WorstCase,
    *,
    training: tuple[Tensor, Tensor] | None = None,
    slack: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    least_carriers: float = LEAST_CARRIERS,
) -> PairedBounds:
    """How much worse a model is than another, made for the task alone; entry i of both losses is the same sample.

    What is hard for both models cancels, so that fewer samples show a relative limit than an absolute one.
    ``training`` are the losses of both models on other samples: the next test sample is assumed to be as bad for the
    first model, and as good for the other, as the most extreme of them.
    """
    if losses.shape != alone.shape:
        raise DataError(f"both models need losses of the same samples, got {len(losses)} and {len(alone)}")
    (value, carriers), (reference, carriers_alone) = _measured(losses, worst_case), _measured(alone, worst_case)
    difference = value - (1 + slack) * reference
    ratio = value / reference if reference > 0 else math.inf
    fewest = min(carriers, carriers_alone)
    if fewest < min(least_carriers, len(losses)):
        return PairedBounds(difference, math.inf, ratio, math.inf, fewest)
    blocks = random_blocks(len(losses), seed=seed)
    ours, theirs = (pseudo_values(each, worst_case, blocks) for each in (losses, alone))
    sample = int((losses - (1 + slack) * alone).argmax())
    pair = _most_extreme((losses, alone) if training is None else training, slack)
    more, more_of_theirs = (
        value_with_another_loss(each, worst_case, blocks, values, sample, loss)
        for each, values, loss in zip((losses, alone), (ours, theirs), pair, strict=True)
    )
    at_least = more - (1 + slack) * more_of_theirs
    difference_values = ours - (1 + slack) * theirs
    bound = studentised_upper(difference_values, confidence=confidence, seed=seed, at_least=at_least).item()
    ratio_bound = ratio_upper(ours, theirs, confidence=confidence, seed=seed, at_least=(more, more_of_theirs)).item()
    bound = _useful(bound, max(losses.max().item(), pair[0]))
    return PairedBounds(difference, max(difference, bound), ratio, max(ratio, ratio_bound), fewest)


def ratio_upper(
    ours: Tensor,
    theirs: Tensor,
    *,
    confidence: float,
    seed: int = 0,
    at_least: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """The smallest ratio r at which the bound of the mean of ``ours - r theirs`` is at most 0 (Fieller 1954).

    One per row of the pseudo-values; infinite where the mean of ``theirs`` may be 0.
    """

    def is_possible(ratio: Tensor) -> Tensor:
        more = None if at_least is None else at_least[0] - ratio * at_least[1]
        values = ours - ratio[..., None] * theirs
        return studentised_upper(values, confidence=confidence, seed=seed, at_least=more) > 0

    low = torch.zeros(ours.shape[:-1], dtype=ours.dtype)
    high = torch.ones_like(low)
    while bool((growing := is_possible(high) & (high < LARGEST_RATIO)).any()):
        low, high = torch.where(growing, high, low), torch.where(growing, 2 * high, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        possible = is_possible(middle)
        low, high = torch.where(possible, middle, low), torch.where(possible, high, middle)
    return torch.where(high < LARGEST_RATIO, high, torch.inf)


def _measured(losses: Tensor, worst_case: WorstCase) -> tuple[float, float]:
    """The worst case, and how many samples carry it; 0 if a loss is not finite, so that no bound is given."""
    weights, value = worst_weighting(losses, worst_case)
    return value.item(), 1 / (weights**2).sum().item() if bool(losses.isfinite().all()) else 0.0


def _most_extreme(losses: tuple[Tensor, Tensor], slack: float) -> tuple[float, float]:
    """The losses of both models at the sample that is worst for the first one against the other."""
    sample = (losses[0] - (1 + slack) * losses[1]).argmax()
    return losses[0][sample].item(), losses[1][sample].item()


def _useful(bound: float, largest: float) -> float:
    """The bound, or infinity if it says nothing: no worst case exceeds the largest loss."""
    return bound if bound <= largest * (1 + ROUNDING) else math.inf
