"""How the new model compares with the model in use, and with the version that models are measured by."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.mtl import Criteria, MultiTaskData
from idbpd.mtl.bounds import confidence_of_each
from idbpd.pipelines.retraining.earlier_version import VersionAnswers, comparable_samples
from idbpd.pipelines.retraining.paired import CONFIDENCE, Paired, compare, exceeds_by

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
    absolute ones. A task that the model in use does not have breaks nothing.
    """
    found = []
    for name, record in held_out.items():
        if asked.reason_against(test[name]) is not None:
            continue
        part = comparable_samples(test, name, asked, criteria)
        criterion = criteria(part.task)
        losses = asked.losses(test[name], criteria)[part.samples]
        slack = record["slack"]
        if slack is None:
            # A constant has itself as its worst case: the same bound serves a limit that is a number.
            reference, slack = losses.new_full(losses.shape, record["reference"]), 0.0
        else:
            reference = alone(name)[part.samples].double()
        loss, limit = criterion.worst(losses).value.item(), (1 + slack) * criterion.worst(reference).value.item()
        if loss > limit:
            each = confidence_of_each(CONFIDENCE, len(held_out))
            bound = exceeds_by(losses, reference, criterion, slack=slack, confidence=each)
            found.append(BrokenLimit(name, loss, limit, bound, part.words))
    return tuple(found)
