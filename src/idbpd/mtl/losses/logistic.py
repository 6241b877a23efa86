"""The logistic loss of one yes-or-no question, or of several independent ones."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.nn.functional import softplus

from idbpd.mtl.kinds import Kind

RAREST = 1e-6


@final
@dataclass(frozen=True)
class Logistic:
    """A sigmoid per output, then cross-entropy; the mean over the outputs of a sample whose targets are known.

    A target is 0 or 1, or NaN where it is not known: such an output has no part in the loss. The mean, and not the sum,
    makes the loss of a task with many labels comparable to that of a single question.
    """

    kinds: ClassVar[tuple[Kind, ...]] = ("binary", "labels")

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The mean logistic loss of every sample.

        Zero logits are a coin toss:

        >>> Logistic().values(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor([0.6931])
        """
        losses = softplus(logits) - targets * logits  # NaN where the target is
        return torch.nansum(losses, dim=dim) / _known(targets).sum(dim=dim)

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """Sigmoid minus target, divided by the number of known targets.

        >>> Logistic().slope(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]))
        tensor([[-0.2500,  0.2500]])
        """
        return torch.nan_to_num(logits.sigmoid() - targets) / _known(targets).sum(dim=dim, keepdim=True)

    def guess(self, targets: Tensor) -> Tensor:
        """The log-odds of each label's frequency."""
        return targets.nanmean(dim=0).nan_to_num(0.5).clamp(RAREST, 1 - RAREST).logit()

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """The probability of every label."""
        return logits.sigmoid()

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The loss of given probabilities; neither zero nor one, which would make a wrong answer infinitely bad."""
        tiny = torch.finfo(torch.float32).tiny
        right, wrong = answers.clamp(min=tiny).log(), (1 - answers).clamp(min=tiny).log()
        losses = -(targets * right + (1 - targets) * wrong)
        return torch.nansum(losses, dim=-1) / _known(targets).sum(dim=-1)


def _known(targets: Tensor) -> Tensor:
    return (~targets.isnan()).to(targets.dtype)
