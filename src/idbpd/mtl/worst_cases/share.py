r"""The worst share of the samples: conditional value at risk, smoothed.

For a share a of n samples and a smoothing s it is

.. math:: \max_y \sum_i y_i l_i - \frac{s n}{2} \|y - 1/n\|^2 \quad\text{s.t.}\quad \sum_i y_i = 1,\
          0 \le y_i \le \frac{1}{a n} .

Without the last term it is the mean of the a n largest losses. That mean has kinks wherever two losses change places,
and there a gradient method stalls. The term is at most s (1/a - 1) / 2 for weights in the set, so the value is below
the mean by at most this.

With z = n y the maximiser is z_i = clip(1 + (l_i - mu) / s, 0, 1/a), for the mu at which z has the mean 1. The mean
falls as mu grows; it is at least 1 at the smallest loss and at most 1 at the largest.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from idbpd.mtl.data import Task
from idbpd.mtl.worst_cases.words import part_of, percent, rounded_up
from idbpd.optim.sets.monotone_root import increasing_root

SHARE = 0.8  # docs/worst_cases.md says why
SMOOTHING = 0.1


@final
@dataclass(frozen=True)
class Share:
    """The mean loss of the worst ``share`` of the samples, too low by at most smoothing (1/share - 1) / 2."""

    share: float = SHARE
    smoothing: float = SMOOTHING

    def __post_init__(self) -> None:
        """Reject a share that is not in (0, 1], and a smoothing for which the maximiser is not unique."""
        if not 0 < self.share <= 1:
            raise ValueError(
                f"share must be above 0 and at most 1, got {self.share}; 0.2 is the worst fifth of the data"
            )
        if not self.smoothing > 0:
            raise ValueError(f"smoothing must be positive, got {self.smoothing}; {SMOOTHING} is the default")

    def for_task(self, task: Task) -> "Share":
        """The same for any task that has enough samples."""
        if self.share * task.size < 1:
            raise ValueError(
                f"share = {self.share} of {task.size} samples is less than one sample; the smallest share that means "
                f"something is {rounded_up(1 / task.size)}"
            )
        return self

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The clipped line through the losses whose weights sum to one."""
        n, most, s = losses.shape[-1], 1.0 / self.share, self.smoothing
        u = losses - losses.amax(dim=-1, keepdim=True)  # only differences matter, and these lose no digits

        def deficit(mu: Tensor) -> tuple[Tensor, Tensor]:
            z = (u - mu).div_(s).add_(1.0)  # in place: of millions of samples every copy counts
            free = ((z > 0.0) & (z < most)).sum(dim=-1, keepdim=True, dtype=torch.float64) / n
            return 1.0 - z.clamp_(0.0, most).mean(dim=-1, keepdim=True), free / s

        low = u.amin(dim=-1, keepdim=True)
        mu = increasing_root(deficit, low, torch.zeros_like(low), low)
        line = u.sub_(mu).div_(s).add_(1.0)
        z = line.clamp(0.0, most)
        # If losses are large compared with s, the last digit of mu moves much weight. The missing weight is shared out
        # among the samples that are surely not at an end of their range, again if one of them then reaches its end.
        rounding = -8.0 * torch.finfo(u.dtype).eps * low / s
        inside = (line >= -rounding) & (line <= most + rounding)
        for _ in range(3):
            missing = n - z.sum(dim=-1, keepdim=True)
            free = torch.where(missing > 0.0, z < most, z > 0.0) & inside
            z.add_(free * (missing / free.sum(dim=-1, keepdim=True).clamp(min=1))).clamp_(0.0, most)
        return z.div_(n)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """(smoothing n / 2) ||y - 1/n||^2."""
        n = weights.shape[-1]
        return self.smoothing * n / 2 * (weights - 1 / n).square_().sum(dim=-1)

    def protects(self, task: str, size: int) -> str:
        """The worst share, in words."""
        error = rounded_up(self.smoothing * (1 / self.share - 1) / 2) if self.share < 1 else "0"
        return (
            f"whatever {part_of(self.share)} of the {size} samples of {task} counts: the mean loss of the worst "
            f"{percent(self.share)} (at most {error} above the stated value, by smoothing)"
        )
