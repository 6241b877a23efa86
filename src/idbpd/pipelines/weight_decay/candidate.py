"""A weight decay that was tried, and the result on the validation part."""

import math
from typing import NamedTuple


class Candidate(NamedTuple):
    """A weight decay that was tried, and what was measured with it."""

    weight_decay: float
    worst_case_losses: dict[str, float]  # of all tasks, on the validation part
    headlines: dict[str, dict[str, float]]  # of all tasks, on the validation part: name and value of a known measure
    guesses: dict[str, float]  # the worst-case loss of the best constant answer to each task

    @property
    def ratios(self) -> dict[str, float]:
        """The worst-case losses as shares of those of the best constant answers; infinite where unknown."""
        return {task: _ratio(loss, self.guesses[task]) for task, loss in self.worst_case_losses.items()}

    @property
    def score(self) -> float:
        """The mean of these shares: tasks with losses of different size count the same. Less is better."""
        return sum(self.ratios.values()) / len(self.ratios)


def _ratio(loss: float, guess: float) -> float:
    return loss / guess if math.isfinite(loss) and guess > 0 else math.inf
