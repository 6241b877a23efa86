"""Measures label by label, where some truths may be unknown, and their means over the labels."""

from collections.abc import Callable

import torch
from torch import Tensor

from idbpd.mtl.ranking import average_precision, roc_auc


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
