"""The metric H0 of another problem in weights, made shorter where a smooth measure of their number bends."""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.state_file import register


@register
class StretchedMetric(NamedTuple):
    """T H0 T in the weights, with a factor T for each; the identity in the levels behind them."""

    inner: InitialMetric
    stretch: Tensor  # (weights,)

    @classmethod
    def with_curvature(cls, inner: InitialMetric, bends: Tensor) -> "StretchedMetric":
        """With the sizes of second derivatives, one per weight, on top of what ``inner`` is the inverse of.

        Where ``inner`` is diagonal, this is the inverse of the sum. A measure bends down as well, where a step is as
        uncertain: sizes count.
        """
        return cls(inner, (1 + inner.diagonal(bends) * bends).rsqrt())

    def apply(self, vectors: Tensor) -> Tensor:
        """H0 v for every row v."""
        stretch = self.stretch.to(vectors)
        weights = self.inner.apply(vectors[:, : len(stretch)] * stretch) * stretch
        return torch.cat([weights, vectors[:, len(stretch) :]], dim=1)

    def diagonal(self, like: Tensor) -> Tensor:
        """The diagonal of H0."""
        size = len(self.stretch)
        return torch.cat([self.inner.diagonal(like[:size]) * self.stretch.square(), torch.ones_like(like[size:])])
