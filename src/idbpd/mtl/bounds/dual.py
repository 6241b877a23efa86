r"""A worst case as the smallest of many means, and the bound for every number of samples that follows.

In terms of z = n y, the ratio of the worst weights to equal ones, a penalty and a share are

.. math:: W = \max_{0 \le z \le c,\ E z = 1} E[z l] - \tfrac{s}{2} E[(z - 1)^2]
            = \min_\eta\ E[\eta + h(l - \eta)], \qquad h(u) = \max_{0 \le z \le c} z u - \tfrac{s}{2} (z - 1)^2 .

So for any fixed level eta the mean of the costs eta + h(l - eta) is at least W. If eta was chosen on other data (the
training part), the costs of the test samples are independent values, bounded where the losses are, and an empirical
Bernstein bound of their mean is a bound of W. It is sharp where eta is nearly the best level.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import torch
from torch import Tensor

from idbpd.mtl.bounds.bernstein import empirical_bernstein_upper

HALVINGS = 60  # of the range of the losses: more than float64 can tell apart


@final
@dataclass(frozen=True)
class Dual:
    """The costs of a worst case with smoothing s and largest ratio c."""

    smoothing: float
    largest_ratio: float

    def __post_init__(self) -> None:
        """Reject what bounds nothing: no price and no largest ratio, or a ratio that equal weights exceed."""
        if not self.smoothing >= 0 or not self.largest_ratio >= 1:
            raise ValueError(
                "smoothing must be at least 0 and largest_ratio at least 1, "
                f"got {self.smoothing} and {self.largest_ratio}"
            )
        if self.smoothing == 0 and math.isinf(self.largest_ratio):
            raise ValueError("the largest loss itself has no such bound: give a smoothing or a largest_ratio")

    @classmethod
    def of_penalty(cls, regularisation: float) -> Self:
        """The dual of `idbpd.mtl.Penalty`."""
        return cls(regularisation, math.inf)

    @classmethod
    def of_share(cls, share: float, smoothing: float = 0.0) -> Self:
        """The dual of the mean of the worst ``share`` of the data."""
        return cls(smoothing, 1 / share)

    def costs(self, losses: Tensor, level: Tensor | float) -> Tensor:
        """The costs eta + h(l - eta) of every loss: non-decreasing and convex in the loss."""
        above = losses - level
        if self.smoothing == 0:
            return level + self.largest_ratio * above.clamp(min=0)
        ratio = (1 + above / self.smoothing).clamp(min=0, max=self.largest_ratio)
        return level + ratio * above - self.smoothing / 2 * (ratio - 1) ** 2

    def best_level(self, losses: Tensor) -> Tensor:
        """The level at which the mean of the costs is smallest, and equal to the worst case; one per row."""
        losses = losses.double()
        low, high = losses.amin(dim=-1), losses.amax(dim=-1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = losses - middle[..., None]
            if self.smoothing == 0:
                ratio = self.largest_ratio * (above > 0)
            else:
                ratio = (1 + above / self.smoothing).clamp(min=0, max=self.largest_ratio)
            is_low = ratio.mean(dim=-1) > 1
            low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
        return high


def capped_worst_case_upper(
    losses: Tensor, dual: Dual, level: float, *, cap: float, confidence: float = 0.95
) -> Tensor:
    """A bound of the worst case of min(loss, cap) that holds for every number of samples; one per row of losses.

    Losses are non-negative, and ``level`` must not depend on them: take `Dual.best_level` of the training losses,
    clipped as well. The part of a loss above the cap is not covered. Where losses are bounded (squared errors of a
    bounded number, misses), the cap can be that bound, and all of them are covered.
    """
    if bool((losses < 0).any()):
        raise ValueError(f"losses must not be negative, got {losses.min().item():g}")
    if not cap > 0:
        raise ValueError(f"cap must be positive, got {cap}")
    ends = dual.costs(torch.tensor([0.0, cap], dtype=torch.float64), level)
    costs = dual.costs(losses.double().clamp(max=cap), level).clamp(ends[0], ends[1])  # rounding may leave the interval
    return empirical_bernstein_upper(costs, ends[0].item(), ends[1].item(), confidence)
