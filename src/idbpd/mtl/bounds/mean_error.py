"""The bound of a mean error on unseen data: exact where each error is 0 or 1."""

import math

from torch import Tensor

from idbpd.mtl.bounds.bootstrap import worst_case_bound
from idbpd.mtl.bounds.rates import clopper_pearson_upper
from idbpd.mtl.worst_cases.mean import Mean

LEAST_ERRORS = 5  # with two errors that are not 0 or 1 the bound covered the truth in 62 % of draws


def mean_error_bound(
    errors: Tensor, *, is_rate: bool, training: Tensor | None = None, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """The mean of the errors of test samples, and what it is at most on the data that they come from.

    The mean is NaN and the bound infinite where too few samples count. ``training`` are the errors of other samples:
    the next test sample is assumed to have the largest error of all.
    """
    if errors.numel() < (1 if is_rate else LEAST_ERRORS):
        return (errors.mean().item() if errors.numel() else math.nan), math.inf
    if is_rate:
        wrong = int(errors.sum())
        return wrong / errors.numel(), clopper_pearson_upper(wrong, errors.numel(), confidence)
    others = training if training is not None and training.numel() else None
    found = worst_case_bound(errors, Mean(), training=others, confidence=confidence, seed=seed)
    return found.value, found.bound
