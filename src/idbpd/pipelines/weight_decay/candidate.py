"""A weight decay that was tried, and the result on the validation part."""

import math
from typing import NamedTuple


class Candidate(NamedTuple):
    """A weight decay that was tried, and what was measured with it."""

    weight_decay: float
    thresholds: dict[str, float]  # of the constraint tasks, as calibrated with this weight decay or set by hand
    worst_case_losses: dict[str, float]  # of all tasks, on the validation part
    headlines: dict[str, dict[str, float]]  # of all tasks, on the validation part: name and value of a known measure
    guesses: dict[str, float]  # the worst-case loss of the best constant answer to each task

    @property
    def ratios(self) -> dict[str, float]:
        """The worst-case losses on the validation part as multiples of the limits; infinite where unknown."""
        return {task: _ratio(self.worst_case_losses[task], limit) for task, limit in self.thresholds.items()}

    @property
    def priority(self) -> str:
        """The task without a limit."""
        (task,) = (task for task in self.worst_case_losses if task not in self.thresholds)
        return task

    @property
    def priority_loss(self) -> float:
        """Its worst-case loss on the validation part; infinite where unknown."""
        loss = self.worst_case_losses[self.priority]
        return loss if math.isfinite(loss) else math.inf

    @property
    def learnt(self) -> set[str]:
        """The constraint tasks whose limits mean something: a constant answer breaks them."""
        return {task for task, limit in self.thresholds.items() if limit < self.guesses[task]}

    def carried(self, margin: float) -> set[str]:
        """The constraint tasks whose limits hold on the validation part up to the margin, better than by a guess."""
        held = {task for task, ratio in self.ratios.items() if ratio <= 1 + margin}
        return {task for task in self.learnt & held if self.worst_case_losses[task] < self.guesses[task]}


def _ratio(loss: float, limit: float) -> float:
    known = math.isfinite(loss) and math.isfinite(limit) and limit > 0
    return loss / limit if known else math.inf
