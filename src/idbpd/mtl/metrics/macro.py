"""Measures label by label, where some truths may be unknown, and their means over the labels."""

from collections.abc import Callable

import torch
from torch import Tensor

from idbpd.mtl.ranking import average_precision, roc_auc, roc_auc_without


def by_label(measure: Callable[[Tensor, Tensor], Tensor], scores: Tensor, truths: Tensor) -> Tensor:
    """A measure of scores and 0/1 truths for every label, over the samples whose truth is known for that label."""
    known = ~truths.isnan()
    if known.all():
        return measure(scores, truths > 0)
    columns = zip(scores.T, truths.T, known.T, strict=True)
    return torch.cat([measure(score[there, None], truth[there, None] > 0) for score, truth, there in columns])


def ranking_metrics(scores: Tensor, truths: Tensor) -> dict[str, float]:
    """ROC AUC and average precision: their means over the labels with both values; NaN if there is none."""
    areas = by_label(roc_auc, scores, truths)
    both = ~areas.isnan()
    return {
        "roc_auc": areas[both].mean().item(),
        "average_precision": by_label(average_precision, scores, truths)[both].mean().item(),
    }


def roc_aucs_without(scores: Tensor, truths: Tensor, blocks: Tensor, count: int) -> list[float]:
    """The ROC AUC of `ranking_metrics` without the samples of each block in turn."""
    known = ~truths.isnan()
    if known.all():
        areas = roc_auc_without(scores, truths > 0, blocks, count)
    else:
        columns = zip(scores.T, truths.T, known.T, strict=True)
        areas = torch.cat(
            [roc_auc_without(score[at, None], truth[at, None] > 0, blocks[at], count) for score, truth, at in columns],
            dim=1,
        )
    return [of_block[~of_block.isnan()].mean().item() for of_block in areas]
