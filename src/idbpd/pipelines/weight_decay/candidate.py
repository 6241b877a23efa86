"""A weight decay and what came of it on samples that it was not trained on."""

from typing import NamedTuple


class Candidate(NamedTuple):
    """A weight decay and what came of it."""

    weight_decay: float
    thresholds: dict[str, float]  # of the constraint tasks, as calibrated with this weight decay
    worst_case_losses: dict[str, float]  # of all tasks, on the validation part
    hit_rates: dict[str, float]  # likewise
    learnt: bool  # whether every constraint task alone does better than a guess, on the samples to learn from

    @property
    def ratio(self) -> float:
        """The worst-case loss on the validation part as a multiple of the threshold, for the task with the largest."""
        return max(self.worst_case_losses[task] / threshold for task, threshold in self.thresholds.items())

    @property
    def priority_loss(self) -> float:
        """The worst-case loss of the task without a threshold on the validation part."""
        (loss,) = (loss for task, loss in self.worst_case_losses.items() if task not in self.thresholds)
        return loss

    def carries_over(self, margin: float) -> bool:
        """Whether limits that mean something hold on the validation part, up to the margin."""
        return self.learnt and self.ratio <= 1 + margin
