r"""The worst share of samples and the paper's penalty, spread over ranks.

Both have weights y_i = z_i / n on a clipped line, :math:`z_i = \mathrm{clip}(1 + (l_i - \mu) / s, 0, c)`. The share a
with the smoothing s has the cap c = 1/a, the penalty has s = lambda and no cap. The threshold mu, at which the mean of
z is one, is found by Newton's method on two sums per task, the sum of z and the number of samples between the ends.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from idbpd.mtl.sharded.reduction import Reduction
from idbpd.mtl.sharded.worst_weights import Samples, Weighted
from idbpd.mtl.worst_cases import Penalty, Share, WorstCase
from idbpd.optim.sets.monotone_root import increasing_root

ROUNDS = 3  # of sharing out the missing weight, as in `Share`


class Lines:
    """The worst weights of `Share` and `Penalty`."""

    def __init__(self, tasks: Sequence[Samples]) -> None:
        """The cap and the slope of each line."""
        self._sizes = torch.tensor([float(task.size) for task in tasks], dtype=torch.float64)
        of_tasks = [_line(task.worst_case) for task in tasks]
        self._caps = [cap for cap, _ in of_tasks]
        self._smoothings = [smoothing for _, smoothing in of_tasks]

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """The clipped lines whose weights sum to one."""
        ends = over.largest([end for one in losses for end in (one.amax(), -one.amin())]).view(-1, 2)
        # Only differences matter, and these lose no digits.
        u = [one - top for one, top in zip(losses, ends[:, 0].tolist(), strict=True)]
        low = -ends.sum(dim=1)

        def deficit(mu: Tensor) -> tuple[Tensor, Tensor]:
            numbers = []
            for line, cap in zip(self._lines(u, mu), self._caps, strict=True):
                numbers += [line.clamp(0.0, cap).sum(), ((line > 0.0) & (line < cap)).sum()]
            means = over.sums(numbers).view(-1, 2) / self._sizes[:, None]
            return 1.0 - means[:, 0], means[:, 1] / torch.tensor(self._smoothings, dtype=torch.float64)

        mu = increasing_root(deficit, low, torch.zeros_like(low), low)
        lines = self._lines(u, mu)
        z = self._completed(lines, low, over)
        return [
            Weighted(one / size, per_square=smoothing * size / 2)
            for one, size, smoothing in zip(z, self._sizes.tolist(), self._smoothings, strict=True)
        ]

    def _lines(self, u: Sequence[Tensor], mu: Tensor) -> list[Tensor]:
        return [1.0 + (one - at) / s for one, at, s in zip(u, mu.tolist(), self._smoothings, strict=True)]

    def _completed(self, lines: Sequence[Tensor], low: Tensor, over: Reduction) -> list[Tensor]:
        """The clipped lines with the missing weight, which the last digit of mu may move if losses are large compared
        with s. It is shared out among the samples that are surely not at an end, again if one then reaches its end.
        """
        z = [line.clamp(0.0, cap) for line, cap in zip(lines, self._caps, strict=True)]
        inside = []
        for line, cap, at, s in zip(lines, self._caps, low.tolist(), self._smoothings, strict=True):
            rounding = -8.0 * torch.finfo(torch.float64).eps * at / s
            inside.append((line >= -rounding) & (line <= cap + rounding))
        for _ in range(ROUNDS):
            numbers = []
            for one, cap, free in zip(z, self._caps, inside, strict=True):
                numbers += [one.sum(), ((one < cap) & free).sum(), ((one > 0.0) & free).sum()]
            totals = over.sums(numbers).view(-1, 3)
            missing = (self._sizes - totals[:, 0]).tolist()
            if not any(missing):
                break
            for at, (cap, lacks) in enumerate(zip(self._caps, missing, strict=True)):
                takes = ((z[at] < cap) if lacks > 0.0 else (z[at] > 0.0)) & inside[at]
                count = float(totals[at, 1 if lacks > 0.0 else 2])
                z[at] = (z[at] + takes * (lacks / max(count, 1.0))).clamp(0.0, cap)
        return z


def _line(worst_case: WorstCase) -> tuple[float, float]:
    """The cap of the relative weights, and how much more loss raises one by one."""
    if isinstance(worst_case, Share):
        return 1.0 / worst_case.share, worst_case.smoothing
    assert isinstance(worst_case, Penalty)
    return math.inf, worst_case.regularisation
