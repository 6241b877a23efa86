"""What is measured: the answers to the samples of a task, next to the truth."""

from typing import NamedTuple

import torch
from torch import Tensor


class Answered(NamedTuple):
    """The answers of a network in the precision that it is used in, and what is true; all are (samples, outputs)."""

    outputs: Tensor  # as the network gives them
    answers: Tensor  # probabilities or, for a number, the standardised number
    truths: Tensor  # float64; NaN where it is not known
    scale: float = 1.0  # of a number: the unit of its standardised form

    @property
    def probabilities(self) -> Tensor:
        """The answers in float64, away from zero and one by the rounding error of their precision.

        A confident wrong answer would otherwise be infinitely bad. scikit-learn draws the same line.
        """
        least = torch.finfo(self.answers.dtype).eps
        return self.answers.double().clamp(least, 1 - least)

    def of(self, samples: Tensor) -> "Answered":
        """Those of some samples."""
        return self._replace(outputs=self.outputs[samples], answers=self.answers[samples], truths=self.truths[samples])
