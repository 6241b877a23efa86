"""The limit of every constraint task: what it reaches on its own times (1 + slack), or a number set by hand."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import CalibrationParameters
from idbpd.mtl import MultiTaskData

# A task whose worst-case loss is more than this share of the best constant guess's has learnt nothing.
GUESSING = 0.99


class ThresholdRule(NamedTuple):
    """How a limit follows from the worst-case loss that a task reaches on its own."""

    slack: Mapping[str, float]  # by task
    by_hand: Mapping[str, float]  # by task
    reserve: float = 0.0  # the share of the slack that training leaves unused

    def threshold(self, task: str, value: float) -> float:
        """The limit in training of a task that reaches ``value`` on its own.

        Training uses a limit to the full where that helps the priority task. On unseen data such a model would be at
        its limit, beyond it as often as not: the reserve is for that.
        """
        return self.by_hand.get(task, at_least_zero(value) * (1 + self.slack[task] * (1 - self.reserve)))


def threshold_rule(train: MultiTaskData, calibration: CalibrationParameters) -> ThresholdRule:
    """The rule that the parameters state: a task's own options count before those for all tasks.

    A `ConfigurationError` names a task that keeps no limit.
    """
    slack = {task.name: float(task.options.get("slack", calibration.slack)) for task in train.limited}
    by_hand = _thresholds_for_all(train, calibration.threshold)
    for task in train.limited:
        if "limit" in task.options:
            by_hand[task.name] = float(task.options["limit"])
        elif "slack" in task.options:
            by_hand.pop(task.name, None)
    return ThresholdRule(slack, by_hand, calibration.reserve)


def _thresholds_for_all(train: MultiTaskData, given: float | dict[str, float] | None) -> dict[str, float]:
    names = [task.name for task in train.limited]
    if given is None:
        return {}
    if not isinstance(given, dict):
        return dict.fromkeys(names, given)
    for name in given:
        if name not in names:
            raise ConfigurationError(
                f"parameter 'calibration.threshold' names {name!r}; the tasks that keep a limit are {', '.join(names)}"
            )
    return dict(given)


def at_least_zero(loss: float) -> float:
    """A worst-case loss without its rounding error, which can make it negative where nothing is lost."""
    return max(0.0, loss)


def thresholds_of(threshold: Mapping[str, Any]) -> dict[str, float]:
    """The limit of each constraint task in the record that calibration saved."""
    return {name: float(record["threshold"]) for name, record in threshold["tasks"].items()}
