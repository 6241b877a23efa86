"""The limit of every constraint task: what it reaches on its own times (1 + slack), or a number set by hand."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import CalibrationParameters
from idbpd.mtl import MultiTaskData

# A task whose worst-case loss is more than this share of a uniform guess's has learnt nothing.
GUESSING = 0.99


class ThresholdRule(NamedTuple):
    """How a limit follows from the worst-case loss that a task reaches on its own."""

    slack: float
    by_hand: Mapping[str, float]  # by task

    def threshold(self, task: str, value: float) -> float:
        """The limit of a task that reaches ``value`` on its own."""
        return self.by_hand.get(task, at_least_zero(value) * (1 + self.slack))


def threshold_rule(train: MultiTaskData, calibration: CalibrationParameters) -> ThresholdRule:
    """The rule that the parameters state; a `ConfigurationError` names a task that keeps no limit."""
    given, names = calibration.threshold, [task.name for task in train.limited]
    if given is None:
        return ThresholdRule(calibration.slack, {})
    if not isinstance(given, dict):
        return ThresholdRule(calibration.slack, dict.fromkeys(names, given))
    for name in given:
        if name not in names:
            raise ConfigurationError(
                f"parameter 'calibration.threshold' names {name!r}; the tasks that keep a limit are {', '.join(names)}"
            )
    return ThresholdRule(calibration.slack, given)


def at_least_zero(loss: float) -> float:
    """A worst-case loss without its rounding error, which can make it negative where nothing is lost."""
    return max(0.0, loss)


def thresholds_of(threshold: Mapping[str, Any]) -> dict[str, float]:
    """The limit of each constraint task in the record that calibration saved."""
    return {name: float(record["threshold"]) for name, record in threshold["tasks"].items()}
