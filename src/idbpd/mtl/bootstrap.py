"""How far a worst case measured on a sample may be from that of the data it was drawn from."""

import torch
from torch import Tensor

from idbpd.mtl.worst_cases import WorstCase, worst_values_of_draws

# How many numbers are resampled at a time. It bounds the memory: 32 MB a copy.
NUMBERS_AT_A_TIME = 2**22


def worst_case_upper_bound(
    losses: Tensor, worst_case: WorstCase, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> float:
    """A bootstrap upper bound of the worst case of ``losses``.

    As many losses as there are get drawn with replacement, ``resamples`` times. The bound is the quantile at
    ``confidence`` of the worst cases of the draws. It assumes that the samples are independent of each other.
    """
    losses = losses.double()
    n = len(losses)
    # Drawn on the host: the same seed gives the same bound on every device.
    generator = torch.Generator().manual_seed(seed)
    values = []
    rows = max(1, NUMBERS_AT_A_TIME // n)
    for begin in range(0, resamples, rows):
        draws = torch.randint(n, (min(rows, resamples - begin), n), generator=generator)
        values.append(worst_values_of_draws(losses, draws.to(losses.device), worst_case))
    return torch.cat(values).quantile(confidence).item()
