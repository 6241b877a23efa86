"""How the new model compares with the model in use, and with the version that models are measured by."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.mtl import Criteria, MultiTaskData
from idbpd.mtl.bounds import confidence_of_each
from idbpd.mtl.worst_cases.mean import Mean
from idbpd.pipelines.retraining.earlier_version import VersionAnswers, comparable_samples
from idbpd.pipelines.retraining.paired import CONFIDENCE, Paired, compare, exceeds_by

ROUNDING = 1e-9
Losses = Mapping[str, Tensor]  # of all test samples, by the task's name


class Against(NamedTuple):
    """The new model against an earlier version in the priority task."""

    version: int
    paired: Paired | None  # None: they cannot be compared
    words: str  # on which rows; or why they cannot be compared


class BrokenLimit(NamedTuple):
    """A limit that the model in use breaks on the test part."""

    task: str
    loss: float
    limit: float
    exceeds_by: float | None  # with confidence it exceeds the limit by at least this; below 0, or None: not shown
    words: str  # on which rows

    @property
    def is_shown(self) -> bool:
        """Whether the limit is broken with confidence, that of all limits together."""
        return self.exceeds_by is not None and self.exceeds_by > 0


class Comparison(NamedTuple):
    """All that is known of the model in use."""

    champion: Against | None = None  # None: there is no champion yet
    yardstick: Against | None = None  # None: it is the champion, or cannot be compared
    broken: tuple[BrokenLimit, ...] = ()

    @property
    def measured_by(self) -> Against | None:
        """The version that the drift is measured by."""
        return self.yardstick or self.champion


def against(asked: VersionAnswers, new: Losses, test: MultiTaskData, criteria: Criteria) -> Against:
    """Compare the priority task on the same samples, those that the earlier version has not seen where it is known."""
    priority = test.priority
    reason = asked.reason_against(priority)
    if reason is not None:
        return Against(asked.version, None, reason)
    part = comparable_samples(test, priority.name, asked, criteria)
    old = asked.losses(priority, criteria)
    paired = compare(new[priority.name][part.samples], old[part.samples], criteria(part.task))
    return Against(asked.version, paired, part.words)


def broken_limits(
    asked: VersionAnswers,
    alone: Callable[[str], Tensor],
    held_out: Mapping[str, Mapping[str, Any]],
    test: MultiTaskData,
    criteria: Criteria,
) -> tuple[BrokenLimit, ...]:
    """The limits of this run that the model in use breaks on the test part.

    ``held_out`` has the limits: relative ones, to the model made for the task alone, whose losses ``alone`` gives, or
    absolute ones, in the loss or in the mean error that a measure stands for. A task that the model in use does not
    have breaks nothing.
    """
    found = []
    each = confidence_of_each(CONFIDENCE, len(held_out))
    for name, record in held_out.items():
        if asked.reason_against(test[name]) is not None:
            continue
        part = comparable_samples(test, name, asked, criteria)
        criterion, slack, room = criteria(part.task), 0.0, 0.0
        if record["measured"] is not None:
            criterion = criterion._replace(worst_case=Mean())
            losses = asked.errors(part.task, record["measured"]["name"])
        else:
            losses = asked.losses(test[name], criteria)[part.samples]
        if record["alone"] is None:
            # A constant has itself as its worst case: the same bound serves a limit that is a number.
            reference = losses.new_full(losses.shape, record["reference"])
        else:
            reference = alone(name)[part.samples].double()
            slack, room = _room(record)
        if len(losses) == 0:
            continue
        loss = criterion.worst(losses).value.item()
        limit = (1 + slack) * criterion.worst(reference).value.item() + room
        if loss > limit:
            bound = exceeds_by(losses, reference, criterion, slack=slack, confidence=each)
            found.append(BrokenLimit(name, loss, limit, None if bound is None else bound - room, part.words))
    return tuple(found)


def _room(record: Mapping[str, Any]) -> tuple[float, float]:
    """By which share a relative limit is above the loss of the model alone, or by how much where it is no share."""
    slack, alone, limit = float(record["slack"]), float(record["alone"]), float(record["reference"])
    is_share = abs(limit - (1 + slack) * alone) <= ROUNDING * limit
    return (slack, 0.0) if is_share else (0.0, limit - alone)
