"""The Huber loss of a number: squared near the target, linear far from it."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from idbpd.mtl.kinds import Kind


@final
@dataclass(frozen=True)
class Huber:
    """The squared error up to ``delta`` deviations of the target, its tangent beyond: single outliers count less."""

    kinds: ClassVar[tuple[Kind, ...]] = ("number",)
    delta: float = 1.0

    def __post_init__(self) -> None:
        """Reject a width without meaning."""
        if not self.delta > 0:
            raise ValueError(f"delta must be positive, got {self.delta}")

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The Huber loss of every sample.

        >>> import torch
        >>> Huber(1.0).values(torch.tensor([[0.5], [3.0]]), torch.zeros(2, 1))
        tensor([0.2500, 5.0000])
        """
        error = (logits - targets).abs()
        near = error.clamp(max=self.delta)
        return (near * (2 * error - near)).sum(dim=dim)

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """Twice the error, at most 2 delta in size."""
        return 2 * (logits - targets).clamp(-self.delta, self.delta)

    def guess(self, targets: Tensor) -> Tensor:
        """The median, which is close to the best constant; the best one has no closed form."""
        return targets.median(dim=0).values

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """The number itself."""
        return logits

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The same, as the answer is the output."""
        return self.values(answers, targets)
