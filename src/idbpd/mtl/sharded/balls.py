r"""The worst weights in a chi-square or Kullback-Leibler ball around equal ones, spread over ranks.

The weights are :math:`y_i \propto [d_i - \mu]_+` in the first and :math:`y_i \propto e^{\beta d_i}` in the second, with
d the losses below the largest, divided by their spread. The farther mu or beta goes, the farther the weights are
from equal ones: the number at which they meet the sphere is the root of one increasing function, and each of its values
takes two messages, one for the sums that normalise the weights and one for their divergence.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from idbpd.mtl.sharded.reduction import Reduction
from idbpd.mtl.sharded.worst_weights import Samples, Weighted
from idbpd.mtl.worst_cases import ChiSquare, KullbackLeibler
from idbpd.optim.sets.monotone_root import increasing_root


class _Spread:
    """The losses of all tasks below their largest, in units of their spread, and what is known of them."""

    def __init__(self, losses: Sequence[Tensor], over: Reduction) -> None:
        ends = over.largest([end for one in losses for end in (one.amax(), -one.amin())]).view(-1, 2)
        width = ends.sum(dim=1)
        units = torch.where(width == 0.0, 1.0, width).tolist()
        tops = ends[:, 0].tolist()
        d = [(one - top) / unit for one, top, unit in zip(losses, tops, units, strict=True)]
        self.d = [torch.where(one > -1e-100, 0.0, one) for one in d]  # treated as zero: its square underflows
        below = [torch.where(one < 0.0, one, -torch.inf).amax() for one in self.d]
        self.gap = -over.largest(below)  # from the largest loss to the next; infinite where all are equal
        numbers = [number for one in self.d for number in ((one == 0.0).sum(), one.sum())]
        sums = over.sums(numbers).view(-1, 2)
        self.ties, self.sums = sums[:, 0], sums[:, 1]


class _Balls(ABC):
    """Tasks with a ball each."""

    def __init__(self, tasks: Sequence[Samples]) -> None:
        """The sizes and the radii."""
        self._sizes = torch.tensor([float(task.size) for task in tasks], dtype=torch.float64)
        radii = []
        for task in tasks:
            assert isinstance(task.worst_case, ChiSquare | KullbackLeibler)
            radii.append(task.worst_case.radius)
        self._radii = torch.tensor(radii, dtype=torch.float64)

    @abstractmethod
    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """The weights on the spheres."""


@final
class ChiSquareBalls(_Balls):
    """The worst weights of `ChiSquare`."""

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """The weights on the sphere; equal weights on the largest losses alone where the ball contains these."""
        at = _Spread(losses, over)
        n, spread = self._sizes, (2.0 * self._radii).sqrt()
        mean = at.sums / n
        scatter = over.sums([((d - m) ** 2).sum() for d, m in zip(at.d, mean.tolist(), strict=True)])
        # While all have weight, the threshold is known in closed form; below it the weights are too equal.
        low = torch.minimum(torch.full_like(mean, -1.0), mean - (scatter / n).sqrt() / spread)
        high = torch.where(at.gap.isinf(), low, -at.gap)  # there, only the largest have weight
        ends = (n / at.ties - 1.0) / 2.0 <= self._radii

        def excess(mu: Tensor) -> tuple[Tensor, Tensor]:
            above = [(d - m).clamp(min=0.0) for d, m in zip(at.d, mu.tolist(), strict=True)]
            numbers = [number for one in above for number in (one.sum(), (one > 0.0).sum(), one.square().sum())]
            total, count, squares = over.sums(numbers).view(-1, 3).T
            relative = [one * factor - 1.0 for one, factor in zip(above, (n / total).tolist(), strict=True)]
            divergence = over.sums([one.square().sum() for one in relative]) / (2.0 * n)
            slope = n * (count * squares - total**2).clamp(min=0.0) / total**3 / divergence
            return divergence.log() - self._radii.log(), slope

        mu = increasing_root(excess, low, torch.maximum(low, high), low)
        above = [(d - m).clamp(min=0.0) for d, m in zip(at.d, mu.tolist(), strict=True)]
        totals = over.sums([one.sum() for one in above]).tolist()
        found = []
        for i, (one, total) in enumerate(zip(above, totals, strict=True)):
            alone = (at.d[i] == 0.0).double() / float(at.ties[i])
            found.append(Weighted(alone if bool(ends[i]) else one / total))
        return found


@final
class EntropyBalls(_Balls):
    """The worst weights of `KullbackLeibler`."""

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """The exponential tilts of equal weights that are as far from them as allowed."""
        at = _Spread(losses, over)
        n = self._sizes
        # As in `KLBall`: from the upper end on only the largest have weight, at the lower end they are within the ball.
        low = torch.maximum(self._radii, (8.0 * self._radii).sqrt()).log()
        high = torch.maximum(torch.where(at.gap.isinf(), 0.0, math.log(800.0) - at.gap.log()), low)

        def tilted(log_beta: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
            tilts = [(b * d).exp() for b, d in zip(log_beta.exp().tolist(), at.d, strict=True)]
            numbers = [number for one, d in zip(tilts, at.d, strict=True) for number in (one.sum(), (one * d).sum())]
            total, first = over.sums(numbers).view(-1, 2).T
            return [one / s for one, s in zip(tilts, total.tolist(), strict=True)], total, first / total

        def excess(log_beta: Tensor) -> tuple[Tensor, Tensor]:
            y, _, mean = tilted(log_beta)
            numbers = []
            for one, d, m, size in zip(y, at.d, mean.tolist(), n.tolist(), strict=True):
                e = size * one - 1.0
                terms: Tensor = torch.special.xlog1py(1.0 + e, e) - e  # never negative
                numbers += [terms.sum(), (one * (d - m).square()).sum()]
            sums = over.sums(numbers).view(-1, 2)
            divergence = sums[:, 0] / n
            # In log-log coordinates the divergence is nearly a straight line of slope 2, which Newton's method likes.
            slope = log_beta.exp().square() * sums[:, 1] / divergence
            return divergence.log() - self._radii.log(), slope

        log_beta = increasing_root(excess, low, high, low)
        return [Weighted(one) for one in tilted(log_beta)[0]]
