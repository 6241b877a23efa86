"""Which tasks get priority in turn: settled, and refused if need be, before anything is trained."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from idbpd.datasets.table import Target, TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import CalibrationParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.task_targets import require_a_limited_task, task_targets
from idbpd.pipelines.frontier.parameters import ALL, OWN, FrontierParameters

PRIORITIES = "frontier.priorities"


def plan_frontier(
    table: TaskTable, division: Division, calibration: CalibrationParameters, frontier: FrontierParameters
) -> list[str]:
    """The tasks that get priority in turn. An `InputError` says what would make the frontier mean nothing."""
    if division.split.test_fraction == 0:
        raise ConfigurationError(
            "parameter 'split.test_fraction' = 0 is not valid for a frontier: its points are compared on unseen data; "
            "choose a share such as 0.2"
        )
    own = task_targets(table, division)
    require_a_limited_task(own)
    priorities = _chosen(frontier.priorities, [target.task for target in own])
    for name in priorities:
        targets = own if name == own[0].task else task_targets(table, replace(division, priority=name))
        _require_limits_to_relax(targets, calibration)
    return priorities


def _chosen(asked: Sequence[str], tasks: Sequence[str]) -> list[str]:
    if list(asked) == [OWN]:
        return [tasks[0]]
    if list(asked) == [ALL]:
        return list(tasks)
    for name in asked:
        if name not in tasks:
            close = get_close_matches(name, tasks, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ConfigurationError(
                f"parameter {PRIORITIES!r} names the task {name!r}, which does not exist; {hint}tasks are "
                f"{', '.join(tasks)}"
            )
    return list(dict.fromkeys(asked))


def _require_limits_to_relax(targets: Sequence[Target], calibration: CalibrationParameters) -> None:
    """A limit that was set by hand stays; where all are, every point would be the same."""
    priority, *limited = targets
    by_hand = calibration.threshold
    if isinstance(by_hand, dict) and priority.task in by_hand:
        raise ConfigurationError(
            f"parameter 'calibration.threshold' names {priority.task!r}, which has priority in one of the fronts and "
            f"keeps no limit there; take it out, or take {priority.task!r} out of {PRIORITIES!r}"
        )
    for target in limited:
        given = by_hand.get(target.task) if isinstance(by_hand, dict) else by_hand
        if "limit" not in target.options and (given is None or "slack" in target.options):
            return
    raise ConfigurationError(
        f"with priority for {priority.task!r} there is no limit to relax: the limits of "
        f"{', '.join(target.task for target in limited)} are set by hand (tasks.<task>.limit or calibration.threshold)"
    )
