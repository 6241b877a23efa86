"""On which test samples an earlier version is compared, and which limits it breaks there."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.parameters import ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.splitting.row_marks import seen_rows
from idbpd.mtl import Meaning, MultiTaskData, Task
from idbpd.pipelines.retraining.comparison import against, broken_limits
from idbpd.pipelines.retraining.earlier_version import VersionAnswers, ask, comparable_samples

ROWS = 300
PROBLEM = ProblemParameters.model_validate({"worst_case": {"share": 0.8}, "weight_decay": 0.0})
CRITERIA = criteria_of(PROBLEM)
MEAN = criteria_of(ProblemParameters.model_validate({"worst_case": "mean", "weight_decay": 0.0}))


@pytest.fixture
def table() -> TaskTable:
    features = np.random.default_rng(0).normal(size=(2 * ROWS, 2)).astype(np.float32)
    return TaskTable(features, ("u", "v"), np.ones((2 * ROWS, 2), np.int8), ("a", "b"))


@pytest.fixture
def test_part() -> MultiTaskData:
    yes = torch.arange(ROWS)[:, None] % 2
    tasks = tuple(
        Task(name, ("yes",), torch.arange(ROWS), yes.float(), Meaning("binary", other="no"))
        for name in ("churn", "triage")
    )
    return MultiTaskData(torch.zeros(ROWS, 1), tasks)


class _Answering:
    """A version that is as sure of the right answer as it is told."""

    version, columns, kinds = 3, ("u",), {"churn": "binary", "triage": "binary"}

    def __init__(self, sure: Tensor, seen: dict[str, Tensor] | None) -> None:
        self.seen_rows = seen
        self._yes = torch.where(torch.arange(ROWS) % 2 == 1, sure, 1 - sure).numpy()

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        assert len(rows) == ROWS
        return pd.DataFrame(
            {"churn": "", "churn:yes": self._yes, "triage": "", "triage:yes": self._yes}, index=range(ROWS)
        )


TEST_ROWS = torch.arange(ROWS, 2 * ROWS)


def _asked(table: TaskTable, seen: dict[str, Tensor] | None, sure: float | Tensor = 0.8) -> VersionAnswers:
    return ask(_Answering(torch.as_tensor(sure).expand(ROWS).double(), seen), table, TEST_ROWS)


def _seen(table: TaskTable, count: int) -> dict[str, Tensor]:
    """The marks of so many test rows, and of some other rows."""
    return seen_rows(table, np.arange(100, ROWS + count))


@pytest.mark.parametrize(
    ("count", "size", "words"),
    [
        (None, 300, "on the same 300 test rows; which of them version 3 was trained on is not known, and those favour"),
        (0, 300, "on the same 300 test rows"),
        (120, 180, "on the 180 of 300 test rows that version 3 was not trained on"),
        (201, 300, "on the same 300 test rows; version 3 was trained on 201 of them, which favours it"),
    ],
)
def test_rows_that_a_version_was_trained_on_are_left_out_if_enough_remain(
    count: int | None, size: int, words: str, table: TaskTable, test_part: MultiTaskData
) -> None:
    asked = _asked(table, None if count is None else _seen(table, count))
    part = comparable_samples(test_part, "churn", asked, CRITERIA)
    assert part.task.size == len(part.samples) == size
    assert part.words.startswith(words)
    assert part.samples.tolist() == list(range(ROWS - size, ROWS))


def test_a_champion_that_knows_some_rows_by_heart_has_no_advantage(table: TaskTable, test_part: MultiTaskData) -> None:
    by_heart = torch.where(torch.arange(ROWS) < 120, 0.999, 0.7).double()
    new = {"churn": torch.full((ROWS,), -np.log(0.75), dtype=torch.float64)}
    unknown = against(_asked(table, None, by_heart), new, test_part, MEAN)
    known = against(_asked(table, _seen(table, 120), by_heart), new, test_part, MEAN)
    assert unknown.paired is not None
    assert known.paired is not None
    assert unknown.paired.old < unknown.paired.new
    assert known.paired.is_shown_better
    assert known.paired.rows == 180


def test_a_share_of_the_unseen_rows_that_is_less_than_one_falls_back_to_all(
    table: TaskTable, test_part: MultiTaskData
) -> None:
    few = criteria_of(ProblemParameters.model_validate({"worst_case": {"share": 0.005}, "weight_decay": 0.0}))
    part = comparable_samples(test_part, "churn", _asked(table, _seen(table, 120)), few)
    assert part.task.size == ROWS


def test_groups_go_with_their_samples(table: TaskTable, test_part: MultiTaskData) -> None:
    churn = replace(test_part["churn"], groups=torch.arange(ROWS) // 150, group_names=("old", "young"))
    data = replace(test_part, tasks=(churn, test_part["triage"]))
    part = comparable_samples(data, "churn", _asked(table, _seen(table, 120)), CRITERIA)
    assert part.task.groups is not None
    assert part.task.groups.bincount().tolist() == [30, 150]


@pytest.mark.parametrize(
    ("record", "broken", "is_shown"),
    [
        ({"slack": 0.1, "reference": 0.179}, True, True),  # -log 0.8 = 0.223 against 1.1 x 0.163
        ({"slack": 0.36, "reference": 0.221}, True, False),  # 0.223 against 0.221, with noise
        ({"slack": 0.5, "reference": 0.2445}, False, False),
        ({"slack": 0.1, "reference": 0.213}, True, True),  # 0.223 against 0.163 + 0.05, the least room
        ({"slack": 0.1, "reference": 0.233}, False, False),  # 0.163 + 0.07
        ({"slack": None, "reference": 0.2}, True, True),
        ({"slack": None, "reference": 0.23}, False, False),
    ],
)
def test_the_limits_of_a_run_are_applied_to_the_champion(
    record: dict[str, Any], broken: bool, is_shown: bool, table: TaskTable, test_part: MultiTaskData
) -> None:
    noise = torch.randn(ROWS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    spread = 0.3 if record["slack"] == 0.36 else 0.0
    alone = 0.163 * (1 + spread * (noise - noise.mean())).abs()
    whole = {**record, "alone": None if record["slack"] is None else 0.163, "measured": None}
    found = broken_limits(_asked(table, None), lambda _: alone, {"triage": whole}, test_part, MEAN)
    assert [limit.task for limit in found] == (["triage"] if broken else [])
    assert [limit.is_shown for limit in found] == ([is_shown] if broken else [])


def test_a_task_that_the_champion_does_not_have_breaks_nothing(table: TaskTable, test_part: MultiTaskData) -> None:
    other = replace(test_part["triage"], name="new task")
    data = replace(test_part, tasks=(test_part["churn"], other))
    record = {"new task": {"slack": None, "alone": None, "reference": 0.0, "measured": None}}
    assert broken_limits(_asked(table, None), lambda _: torch.zeros(ROWS), record, data, CRITERIA) == ()
