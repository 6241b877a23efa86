"""A weight decay that was tried, and the result on the validation part."""

import math
import statistics
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Candidate(NamedTuple):
    """A weight decay that was tried, and what was measured with it."""

    weight_decay: float
    worst_case_losses: dict[str, float]  # of all tasks, on the validation part
    headlines: dict[str, dict[str, float]]  # of all tasks, on the validation part: name and value of a known measure
    guesses: dict[str, float]  # the worst-case loss of the best constant answer to each task
    # How much each block of validation samples moves the worst-case losses (`idbpd.mtl.bounds.jackknife`), by task;
    # the blocks are the same for all candidates of a search. Empty where it is not known.
    pseudo_values: Mapping[str, list[float]] = MappingProxyType({})
    counts: Mapping[str, float] = MappingProxyType({})  # what each task counts in the score; 1 where it is not said
    is_done: bool = True  # whether its model was trained to the end; else it may not have learnt the noise yet

    @property
    def ratios(self) -> dict[str, float]:
        """The worst-case losses as shares of those of the best constant answers; infinite where unknown."""
        return {task: _ratio(loss, self.guesses[task]) for task, loss in self.worst_case_losses.items()}

    @property
    def measured(self) -> dict[str, Any]:
        """What the record of the search shows of it, as plain data."""
        return {name: value for name, value in self._asdict().items() if name not in ("pseudo_values", "counts")}

    @property
    def score(self) -> float:
        """The mean of these shares, in which each task counts as it does in training. Less is better."""
        return self._mean(self.ratios)

    def no_worse_than_guesses(self, tasks: Collection[str]) -> "Candidate":
        """The same, but that some tasks, where they are worse than a constant guess, are as bad as one."""
        worse = {task for task in tasks if 1 < self.ratios[task] < math.inf}
        losses = {task: self.guesses[task] if task in worse else loss for task, loss in self.worst_case_losses.items()}
        values = {task: of_task for task, of_task in self.pseudo_values.items() if task not in worse}
        return self._replace(worst_case_losses=losses, pseudo_values=values)

    def score_error(self, other: "Candidate") -> float:
        """The standard error of the difference to the score of another candidate on the same validation part.

        Tasks share samples, so their errors may all go the same way: they are added without a gain from averaging.
        """
        errors = {
            task: self._error(other, task) / guess
            for task, guess in self.guesses.items()
            if guess > 0 and (task in self.pseudo_values or task in other.pseudo_values)
        }
        return self._mean(errors) if errors else 0.0

    def _mean(self, values: Mapping[str, float]) -> float:
        counts = {task: self.counts.get(task, 1.0) for task in values}
        return sum(counts[task] * value for task, value in values.items()) / sum(counts.values())

    def _error(self, other: "Candidate", task: str) -> float:
        """The standard error of the difference in a task; none where one of the two counts as a guess in it."""
        if task not in self.pseudo_values or task not in other.pseudo_values:
            return 0.0
        pairs = zip(self.pseudo_values[task], other.pseudo_values[task], strict=True)
        return _standard_error([ours - theirs for ours, theirs in pairs])


def _standard_error(values: list[float]) -> float:
    """The standard error of the mean; 0 if it is not known."""
    finite = all(math.isfinite(value) for value in values)
    return statistics.stdev(values) / math.sqrt(len(values)) if finite and len(values) > 1 else 0.0


def _ratio(loss: float, guess: float) -> float:
    return loss / guess if math.isfinite(loss) and guess > 0 else math.inf
