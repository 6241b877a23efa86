"""The usual bootstrap bounds, from the worst cases of draws: what the bound in use is compared with."""

import torch
from torch import Tensor

DRAWS = 200
POOL = 20


class SortedDraws:
    """Draws with replacement, in ascending order, from a pool: losses in descending order stay so."""

    def __init__(self, n: int, generator: torch.Generator) -> None:
        """Uniform order statistics are partial sums of exponential numbers, divided by the sum of all."""
        sums = torch.empty(POOL * DRAWS, n + 1, dtype=torch.float64).exponential_(generator=generator).cumsum(dim=1)
        self._pool = (sums[:, :-1] / sums[:, -1:] * n).long().clamp(max=n - 1).view(POOL, DRAWS, n)

    def of(self, repetition: int) -> Tensor:
        """The draws of one repetition, (DRAWS, n)."""
        return self._pool[repetition % POOL]


def percentile(values: Tensor, confidence: float) -> float:
    """The quantile of the draws."""
    return values.quantile(confidence).item()


def basic(values: Tensor, measured: float, confidence: float) -> float:
    """The measured value minus the quantile of what draws are off by."""
    return 2 * measured - values.quantile(1 - confidence).item()


def bias_corrected(values: Tensor, measured: float, pseudo: Tensor, confidence: float) -> float:
    """BCa: the quantile moved by the bias and the skewness of the draws (Efron 1987)."""
    least = 0.5 / len(values)
    below = ((values < measured).double().mean() + 0.5 * (values == measured).double().mean()).clamp(least, 1 - least)
    z0 = torch.special.ndtri(below)
    z = torch.special.ndtri(torch.tensor(confidence, dtype=torch.float64))
    centred = pseudo - pseudo.mean()
    acceleration = (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
    room = 1 - acceleration * (z0 + z)
    level = torch.special.ndtr(z0 + (z0 + z) / room) if room > 0 else torch.ones(())
    return values.quantile(level.clamp(0, 1).item()).item()
