"""What is promised of every constraint task on unseen data, and which limit in training follows from it."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import CalibrationParameters
from idbpd.mtl import MultiTaskData

# A task whose worst-case loss is more than this share of the best constant guess's has learnt nothing.
GUESSING = 0.99


class Room(NamedTuple):
    """By how much a task may be worse than a model made for it alone: shares of that model's loss and of a guess's."""

    of_alone: float
    of_guess: float

    def extra(self, alone: float, guess: float) -> float:
        """The room as a loss."""
        return self.of_alone * alone + self.of_guess * guess


class Promise(NamedTuple):
    """A limit on unseen data. Exactly one of slack, loss and measure is set."""

    slack: float | None = None  # by which share the task may be worse than a model made for it alone
    loss: float | None = None  # what its worst-case loss may be at most
    measure: str | None = None  # a measure that people know, such as accuracy,
    level: float | None = None  # and what it must be at least; where it is an error, at most
    # Of a slack: the largest share of what the model made for the task alone gains over a guess that may be given up,
    most_given_up: float = 1.0
    least_room: float = 0.0  # and the share of a guess's loss by which the task may be worse in any case

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """The promise in what calibration saved of a task."""
        limit = record["limit"]
        if isinstance(limit, Mapping):
            ((measure, level),) = limit.items()
            return cls(measure=measure, level=level)
        if limit is not None:
            return cls(loss=limit)
        given_up = record.get("most_given_up", 1.0)  # an earlier version did not save it
        return cls(slack=record["slack"], most_given_up=given_up, least_room=record["least_room"])

    @property
    def limit(self) -> float | dict[str, float] | None:
        """The limit as people write it; None where it is relative."""
        return self.loss if self.measure is None else {self.measure: self.level or 0.0}

    def threshold(self, value: float, guess: float, reserve: float = 0.0) -> float:
        """The limit in training; ``value`` is the worst-case loss of the task alone, ``guess`` that of a constant.

        Training uses a limit to the full where that helps the priority task, and on unseen data every model is worse
        than on its training data. So a limit that is promised there may need a tighter one here. A ``reserve`` of 0 is
        the promise itself, or the loss of a guess where the promise is not in the loss; 1 is the value that the task
        reaches on its own, the tightest limit that can be kept.

        No limit is looser than a guess, unless the task reaches no better on its own: it would allow a model that is
        worse than none.
        """
        value = at_least_zero(value)
        if self.slack is not None:
            loosest = self.relative(value, guess)
        elif self.loss is not None:
            loosest = self.loss
        else:
            loosest = guess
        if loosest >= guess:
            loosest = max(value, guess)
        if self.measure is not None and value > 0:
            # Guess and value may be orders of magnitude apart, so the reserve moves the limit by equal factors.
            return loosest * math.exp(reserve * math.log(value / loosest))
        return loosest - reserve * max(0.0, loosest - value)

    def relative(self, value: float, guess: float) -> float:
        """What a task with a slack may reach at most where a model made for it alone reaches ``value``."""
        room = self.room(value, guess)
        return (1 + room.of_alone) * value + room.of_guess * guess

    def room(self, value: float, guess: float) -> Room:
        """By how much a task with a slack may be worse than a model made for it alone, which reaches ``value``.

        Where a task is hard, 10 % of its loss may be all that can be learnt: most of what the model alone gains over a
        guess must stay. Where it is nearly perfect, a share of nearly nothing is no difference that anybody would act
        on.
        """
        assert self.slack is not None

        def extra(room: Room) -> float:
            return room.extra(value, guess)

        by_slack, by_gain = Room(self.slack, 0.0), Room(-self.most_given_up, self.most_given_up)
        return max(min(by_slack, by_gain, key=extra), Room(0.0, self.least_room), key=extra)


def promises_of(train: MultiTaskData, calibration: CalibrationParameters) -> dict[str, Promise]:
    """What the parameters promise of each limited task: its own options count before those for all tasks.

    A `ConfigurationError` names a task that keeps no limit.
    """
    by_hand = _thresholds_for_all(train, calibration.threshold)
    return {task.name: _promise(task.options, by_hand.get(task.name), calibration) for task in train.limited}


def _promise(options: Mapping[str, Any], by_hand: float | None, calibration: CalibrationParameters) -> Promise:
    limit = options.get("limit")
    if isinstance(limit, Mapping):
        ((measure, level),) = limit.items()
        return Promise(measure=measure, level=float(level))
    if limit is not None:
        return Promise(loss=float(limit))
    if "slack" in options or by_hand is None:
        slack = float(options.get("slack", calibration.slack))
        return Promise(slack=slack, most_given_up=calibration.most_given_up, least_room=calibration.least_room)
    return Promise(loss=by_hand)


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
