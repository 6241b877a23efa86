"""Cross-entropy against a class, or against a distribution over labels."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from idbpd.mtl.kinds import Kind

# The smallest probability of a constant guess: a class that no sample has would otherwise have minus infinity as logit.
RAREST = 1e-6


@final
@dataclass(frozen=True)
class CrossEntropy:
    """Softmax, then cross-entropy; a target sums to one: a class, or the sample's labels with equal shares.

    A sample without a label has a target of zero, and so a loss of zero.
    """

    kinds: ClassVar[tuple[Kind, ...]] = ("classes", "distribution")

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The cross-entropy of every sample.

        Zero logits are a uniform guess, whose loss is the logarithm of the number of labels:

        >>> CrossEntropy().values(torch.zeros(1, 4), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
        tensor([1.3863])
        """
        return -(targets * torch.log_softmax(logits, dim=dim)).sum(dim=dim)

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """Softmax minus target; zero where the target is zero, as the loss is.

        >>> CrossEntropy().slope(torch.zeros(1, 4), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
        tensor([[-0.2500, -0.2500,  0.2500,  0.2500]])
        """
        return torch.softmax(logits, dim=dim) * targets.sum(dim=dim, keepdim=True) - targets

    def guess(self, targets: Tensor) -> Tensor:
        """The logarithms of the mean targets."""
        return targets.mean(dim=0).clamp(min=RAREST).log()

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:
        """The probability of every label."""
        return logits.softmax(dim=dim)

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The cross-entropy of given probabilities.

        A probability of zero would make a confident wrong answer infinitely bad. The smallest positive number of
        float32 takes its place.
        """
        return -(targets * answers.clamp(min=torch.finfo(torch.float32).tiny).log()).sum(dim=-1)
