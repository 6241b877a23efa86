"""What training and measuring ask of a loss."""

from typing import Protocol

from torch import Tensor


class Loss(Protocol):
    """How far the network's output for one sample is from that sample's target.

    A loss is a frozen dataclass. Its fields are its options, and ``__post_init__`` raises a ValueError for an option
    without meaning. It is listed by name in `idbpd.mtl.losses.LOSSES`.

    Outputs are logits or, for a task that predicts numbers, the numbers themselves. The outputs of one sample lie along
    ``dim``: the oracle computes with (outputs, samples), everything else with (samples, outputs).
    """

    def values(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The loss of every sample."""
        ...

    def slope(self, logits: Tensor, targets: Tensor, dim: int = -1) -> Tensor:
        """The derivative of every sample's loss in its own logits, in the shape of the logits."""
        ...

    def guess(self, targets: Tensor) -> Tensor:
        """The logits of an answer that does not look at the features; (samples, outputs), as the targets are.

        A task whose worst case is no better than that of this guess has learnt nothing.
        """
        ...

    def answers(self, logits: Tensor, dim: int = -1) -> Tensor:
        """What a trained model tells its users: probabilities or, for a task that predicts numbers, the numbers."""
        ...

    def values_of_answers(self, answers: Tensor, targets: Tensor) -> Tensor:
        """The loss of every sample, (samples,), from answers alone: a served model does not show its logits."""
        ...
