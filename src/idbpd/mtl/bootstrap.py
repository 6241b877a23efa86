"""How far a worst case measured on a sample may be from that of the data it was drawn from."""

import torch
from torch import Tensor

from idbpd.optim.sets import Simplex

# Numbers that are resampled at a time: bounds the memory, 32 MB a copy.
NUMBERS_AT_A_TIME = 2**22


def worst_case_upper_bound(
    losses: Tensor, regularisation: float, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> float:
    """A bootstrap upper bound of the worst case of ``losses`` (see `idbpd.mtl.worst_case`).

    As many losses as there are drawn with replacement, again and again; the bound is the quantile at ``confidence`` of
    the worst cases of the draws. It takes the samples for independent of each other.
    """
    losses = losses.double()
    n = len(losses)
    # Drawn on the host: the same seed gives the same bound on every device.
    generator = torch.Generator().manual_seed(seed)
    values = []
    rows = max(1, NUMBERS_AT_A_TIME // n)
    for begin in range(0, resamples, rows):
        chosen = torch.randint(n, (min(rows, resamples - begin), n), generator=generator)
        values.append(_worst_cases(losses[chosen.to(losses.device)], regularisation))
    return torch.cat(values).quantile(confidence).item()


def _worst_cases(losses: Tensor, regularisation: float) -> Tensor:
    """The worst case of every row."""
    n = losses.shape[-1]
    weights = Simplex(n).project(1 / n + losses / (regularisation * n))
    distance = (weights - 1 / n).square().sum(dim=-1)
    return (weights * losses).sum(dim=-1) - regularisation * n / 2 * distance
