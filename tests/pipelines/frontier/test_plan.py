"""Which tasks get priority in turn, and what is refused before anything is trained."""

from typing import Any

import numpy as np
import pytest

from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import CalibrationParameters, FeatureParameters, SplitParameters, TasksParameters
from idbpd.experiment.splitting.division import Division
from idbpd.pipelines.frontier.parameters import FrontierParameters
from idbpd.pipelines.frontier.plan import plan_frontier

TASKS: dict[str, list[int | str]] = {"first": [0], "second": [1, 2], "third": [3]}


def _plan(
    priorities: Any = "own",
    tasks: dict[str, list[int | str]] = TASKS,
    options: dict[str, Any] | None = None,
    threshold: Any = None,
    test_fraction: float = 0.2,
    priority: str | None = None,
) -> list[str]:
    table = TaskTable(np.ones((8, 2), np.float32), ("u", "v"), np.ones((8, 4), np.int8), tuple("abcd"))
    split = SplitParameters(tasks=tasks, test_fraction=test_fraction, seed=0)
    division = Division(split, FeatureParameters(), TasksParameters.model_validate(options or {}), priority)
    calibration = CalibrationParameters(slack=0.1, threshold=threshold, max_steps=1, tolerance=1e-3)
    frontier = FrontierParameters.model_validate(
        {"slacks": [0.1], "priorities": priorities, "weights": [], "residual_limit": 0.01}
    )
    return plan_frontier(table, division, calibration, frontier)


def test_the_own_priority_all_of_them_or_some() -> None:
    assert _plan() == ["first"]
    assert _plan(priority="second") == ["second"]
    assert _plan("all") == ["first", "second", "third"]
    assert _plan("third+first+third") == ["third", "first"]


def test_some_limits_may_be_set_by_hand() -> None:
    assert _plan(options={"second": {"limit": 0.5}}) == ["first"]
    assert _plan(threshold={"third": 0.5}) == ["first"]
    assert _plan(threshold=0.5, options={"second": {"slack": 0.1}}) == ["first"]  # its slack counts before the number


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"priorities": "secnd"}, "names the task 'secnd', which does not exist; did you mean 'second'"),
        ({"tasks": {"only": [0, 1]}}, "there is one task, 'only'; it takes one to improve and at least one more"),
        ({"test_fraction": 0.0}, "'split.test_fraction' = 0 is not valid for a frontier"),
        ({"threshold": 0.5}, "with priority for 'first' there is no limit to relax: the limits of second, third are"),
        (
            {"priorities": "third", "options": {"first": {"limit": 1}, "second": {"limit": 1}}, "priority": "third"},
            "with priority for 'third' there is no limit to relax",
        ),
        ({"priorities": "all", "threshold": {"third": 0.5}}, "'calibration.threshold' names 'third', which has"),
        ({"priorities": "all", "options": {"third": {"slack": 0.5}}}, "tasks.third.slack = 0.5, but 'third' has prio"),
    ],
)
def test_what_cannot_be_a_frontier_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _plan(**asked)
