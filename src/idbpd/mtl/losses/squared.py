"""The squared error of a number."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from idbpd.mtl.kinds import Kind


@final
@dataclass(frozen=True)
class Squared:
    """(output - target)^2, in units of the target's variance: 1 is the mean loss of always answering the mean."""

    kinds: ClassVar[tuple[Kind, ...]] = ("number",)

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The squared error of every sample.

        >>> import torch
        >>> Squared().values(torch.tensor([[2.0]]), torch.tensor([[-1.0]]))
        tensor([9.])
        """
        return (logits - targets).square().sum(dim=dim)

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """Twice the error."""
        return 2 * (logits - targets)

    def guess(self, targets: Tensor) -> Tensor:
        """The mean."""
        return targets.mean(dim=0)

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """The number itself."""
        return logits

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The same, as the answer is the output."""
        return self.values(answers, targets)
