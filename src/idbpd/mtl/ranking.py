"""How well scores rank true labels before others."""

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
    by_label, ascending, true_until = _sorted(scores, relevant)
    # The true samples with a score below that of each sample, and how many samples there are below it.
    below = _places(ascending, by_label)
    true_below = true_until.gather(-1, (below - 1).clamp_(min=0).long()).masked_fill_(below == 0, 0)
    total = relevant.sum(dim=0)
    precision = (total[:, None] - true_below).double().div_(below.neg_().add_(scores.shape[0]))
    return precision.masked_fill_(~relevant.T, 0.0).sum(dim=-1) / total


def roc_auc(scores: Tensor, relevant: Tensor) -> Tensor:
    """The area under the ROC curve of each label over the samples; columns are labels.

    It is the share of pairs, of a sample with the label and one without, in which the first has the higher score; a
    pair with equal scores counts one half. NaN for a label that all samples have, or none.

    >>> roc_auc(torch.tensor([[0.9], [0.8], [0.1]]), torch.tensor([[True], [False], [True]]))
    tensor([0.5000], dtype=torch.float64)
    """
    by_label, ascending, others = _sorted(scores, ~relevant)
    others = torch.cat([others.new_zeros(len(others), 1), others], dim=-1)  # among the first 0, 1, ... n scores
    twice = others.gather(-1, _places(ascending, by_label).long())
    twice += others.gather(-1, _places(ascending, by_label, right=True).long())
    wins = twice.double().div_(2).masked_fill_(~relevant.T, 0.0).sum(dim=-1)
    return wins / (relevant.sum(dim=0) * others[:, -1])


def _sorted(scores: Tensor, counted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Label by label: the scores, the same in ascending order, and how many are counted among the first 1, 2, ..."""
    by_label = scores.T.contiguous()
    ascending, order = by_label.sort(dim=-1)
    return by_label, ascending, counted.T.gather(-1, order).cumsum(dim=-1, dtype=_whole_numbers(by_label))


def _places(ascending: Tensor, by_label: Tensor, *, right: bool = False) -> Tensor:
    is_short = _whole_numbers(by_label) is torch.int32
    return torch.searchsorted(ascending, by_label, right=right, out_int32=is_short)


def _whole_numbers(by_label: Tensor) -> torch.dtype:
    """The smaller type that can count twice all samples: of millions of them, the memory of counts is what counts."""
    return torch.int32 if by_label.shape[1] < 2**30 else torch.int64
