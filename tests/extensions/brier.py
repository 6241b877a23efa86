"""The Brier score."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from idbpd.mtl.kinds import Kind


@final
@dataclass(frozen=True)
class Brier:
    """The squared distance between the probabilities and the target."""

    kinds: ClassVar[tuple[Kind, ...]] = ("classes", "distribution")

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """||softmax(logits) - target||^2."""
        return (logits.softmax(dim=dim) - targets).square().sum(dim=dim)

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """Through the derivative of softmax, p_i (delta_ij - p_j)."""
        shares = logits.softmax(dim=dim)
        outer = 2 * (shares - targets)
        return shares * (outer - (shares * outer).sum(dim=dim, keepdim=True))

    def guess(self, targets: Tensor) -> Tensor:
        """The logarithms of the mean targets."""
        return targets.mean(dim=0).clamp(min=1e-6).log()

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:
        """The probability of every label."""
        return logits.softmax(dim=dim)

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The same distance for given probabilities."""
        return (answers - targets).square().sum(dim=-1)
