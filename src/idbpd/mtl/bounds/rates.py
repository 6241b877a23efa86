"""Exact bounds of a rate, such as accuracy or recall, from so many hits in so many trials."""

import torch
from torch import Tensor

from idbpd.mtl.bounds.confidence import check_confidence

# Halvings of an interval of length one: after these float64 has no number between its ends.
HALVINGS = 80


def clopper_pearson_upper(successes: int, trials: int, confidence: float = 0.95) -> float:
    """The largest rate with which ``successes`` or fewer of ``trials`` have a chance of at least 1 - confidence.

    The true rate is below it with at least this confidence, for any number of trials (Clopper and Pearson 1934).
    """
    check_confidence(confidence)
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"successes must be from 0 to the number of trials (at least 1), got {successes} of {trials}")
    if successes == trials:
        return 1.0
    log_choices = _log_choices(successes, trials)
    hits = torch.arange(successes + 1, dtype=torch.float64)
    log_alpha = torch.tensor(1 - confidence, dtype=torch.float64).log()
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rate = torch.tensor(middle, dtype=torch.float64)
        log_terms = log_choices + torch.xlogy(hits, rate) + (trials - hits) * torch.log1p(-rate)
        # The chance of so few hits falls as the rate grows. In logarithms: single terms are far below float64.
        if log_terms.logsumexp(dim=0) > log_alpha:
            low = middle
        else:
            high = middle
    return high


def clopper_pearson_lower(successes: int, trials: int, confidence: float = 0.95) -> float:
    """The rate that the true one exceeds with at least this confidence: one minus the upper bound of the misses."""
    return 1.0 - clopper_pearson_upper(trials - successes, trials, confidence)


def _log_choices(successes: int, trials: int) -> Tensor:
    """The logarithms of "trials choose k", for k from 0 to ``successes``."""
    k = torch.arange(1, successes + 1, dtype=torch.float64)
    steps = (trials - k + 1).log() - k.log()
    return torch.cat([torch.zeros(1, dtype=torch.float64), steps.cumsum(dim=0)])
