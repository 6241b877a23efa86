"""What training and measuring ask of a loss."""

from typing import ClassVar, Protocol

from torch import Tensor

from idbpd.mtl.kinds import Kind


class Loss(Protocol):
    """How far the network's output for one sample is from that sample's target.

    A loss is a frozen dataclass. Its fields are its options, and ``__post_init__`` raises a ValueError for an option
    without meaning. It is listed by name in `idbpd.mtl.losses.LOSSES`.

    Outputs are logits or, for a task that predicts numbers, the numbers themselves. The outputs of one sample lie along
    ``dim``: the oracle computes with (outputs, samples), everything else with (samples, outputs).
    """

    kinds: ClassVar[tuple[Kind, ...]]  # the kinds of task that it is for

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The loss of every sample."""
        ...

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The derivative of every sample's loss in its own logits, in the shape of the logits."""
        ...

    def guess(self, targets: Tensor) -> Tensor:
        """The logits, (outputs,), of the constant answer with the least mean loss; targets are (samples, outputs)."""
        ...

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:
        """What a trained model tells its users: probabilities or, for a task that predicts numbers, the numbers."""
        ...

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The loss of every sample, (samples,), from answers alone: a served model does not show its logits."""
        ...
