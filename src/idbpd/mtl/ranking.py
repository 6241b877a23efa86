"""How well scores rank true labels before others."""

from typing import NamedTuple

import torch
from torch import Tensor

# Pairs of labels that are compared at a time: with hundreds of labels all samples at once would not fit.
NUMBERS_AT_A_TIME = 2**24


def label_ranking_precision(scores: Tensor, relevant: Tensor) -> Tensor:
    """Label-ranking average precision, one value per sample: 1 when all true labels come first.

    For each true label, the share of true labels among those with at least its score; their mean. NaN for a sample
    without a true label.

    >>> label_ranking_precision(torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[True, False, True]]))
    tensor([0.8333], dtype=torch.float64)
    """
    rows = max(1, NUMBERS_AT_A_TIME // max(1, scores.shape[1] ** 2))
    blocks = zip(torch.split(scores, rows), torch.split(relevant, rows), strict=True)
    return torch.cat([_label_ranking_precision(*block) for block in blocks])


def _label_ranking_precision(scores: Tensor, relevant: Tensor) -> Tensor:
    at_least = scores[:, None, :] >= scores[:, :, None]  # (samples, of label, other label)
    rank = at_least.sum(dim=-1)
    true_rank = (at_least & relevant[:, None, :]).sum(dim=-1)
    precision = torch.where(relevant, true_rank.double() / rank, 0.0)
    return precision.sum(dim=-1) / relevant.sum(dim=-1)


def average_precision(scores: Tensor, relevant: Tensor) -> Tensor:
    """Average precision of each label over the samples: the area under its precision-recall steps.

    Columns are labels. Samples with the same score have the same rank, so that their order does not count. NaN for a
    label that no sample has.

    >>> average_precision(torch.tensor([[0.9], [0.8], [0.1]]), torch.tensor([[True], [False], [True]]))
    tensor([0.8333], dtype=torch.float64)
    """
    ranks = _ranks(scores, relevant)
    true, others = _counts(ranks.level, ranks.true), _counts(ranks.level, ~ranks.true)
    total = relevant.sum(dim=0)
    true_from = total[:, None] - true.cumsum(dim=-1).sub_(true)  # with at least this score
    others_from = (len(scores) - total)[:, None] - others.cumsum(dim=-1).sub_(others)
    precision = true_from.double().div_(others_from.add_(true_from).clamp_(min=1))
    return precision.mul_(true).sum(dim=-1) / total


def roc_auc(scores: Tensor, relevant: Tensor) -> Tensor:
    """The area under the ROC curve of each label over the samples; columns are labels.

    It is the share of pairs, of a sample with the label and one without, in which the first has the higher score; a
    pair with equal scores counts one half. NaN for a label that all samples have, or none.

    >>> roc_auc(torch.tensor([[0.9], [0.8], [0.1]]), torch.tensor([[True], [False], [True]]))
    tensor([0.5000], dtype=torch.float64)
    """
    ranks = _ranks(scores, relevant)
    return _area(ranks.level, ranks.true, ~ranks.true)


def roc_auc_without(scores: Tensor, relevant: Tensor, blocks: Tensor, count: int) -> Tensor:
    """`roc_auc` without the samples of block 0, then without those of block 1, and so on: (count, labels).

    Samples are sorted once for all of them: of millions, that is nearly all of the time.
    """
    ranks = _ranks(scores, relevant)
    block = blocks[ranks.order]
    areas = []
    for left_out in range(count):
        kept = block != left_out
        areas.append(_area(ranks.level, ranks.true & kept, ~ranks.true & kept))
    return torch.stack(areas)


class _Ranks(NamedTuple):
    """Samples by ascending score, label by label: (labels, samples)."""

    order: Tensor  # which samples they are
    level: Tensor  # int64: the number of different scores below
    true: Tensor  # whether they have the label


def _ranks(scores: Tensor, relevant: Tensor) -> _Ranks:
    ascending, order = scores.T.contiguous().sort(dim=-1)
    level = torch.zeros_like(order)
    torch.cumsum(ascending[:, 1:] != ascending[:, :-1], dim=-1, out=level[:, 1:])
    return _Ranks(order, level, relevant.T.gather(-1, order))


def _counts(level: Tensor, counted: Tensor) -> Tensor:
    """How many of the counted samples each level has; as many columns as samples, of which the last may be zero."""
    counts = torch.zeros(level.shape, dtype=_whole_numbers(level), device=level.device)
    return counts.scatter_add_(-1, level, counted.to(counts.dtype))


def _area(level: Tensor, true: Tensor, others: Tensor) -> Tensor:
    """The share of pairs that are in the right order, of whole numbers that are exact."""
    true_at, others_at = _counts(level, true), _counts(level, others)
    twice = others_at.cumsum(dim=-1).mul_(2).sub_(others_at).mul_(true_at).sum(dim=-1)
    return twice.double() / 2 / (true.sum(dim=-1) * others.sum(dim=-1))


def _whole_numbers(by_label: Tensor) -> torch.dtype:
    """The smaller type that can count all samples: of millions of them, the memory of counts is what counts."""
    return torch.int32 if by_label.shape[1] < 2**31 else torch.int64
