"""Which tasks a table has, which of them has priority, and how their targets become those of a part."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from idbpd.datasets.table import Column, Target, TaskTable
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.parameters import FeatureParameters, SplitParameters, TasksParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import TableSplit, split
from idbpd.experiment.splitting.task_targets import task_targets

ROWS = 200


def _targets() -> tuple[Target, ...]:
    """One target of each kind; values are missing in some rows."""
    random = np.random.default_rng(0)
    yes = (random.random((ROWS, 1)) < 0.3).astype(np.float32)
    yes[:20] = np.nan
    number = random.normal(50, 7, size=(ROWS, 1)).astype(np.float32)
    labels = (random.random((ROWS, 2)) < 0.2).astype(np.float32)
    labels[0, 0] = np.nan
    classes = np.eye(3, dtype=np.float32)[random.integers(0, 3, ROWS)]
    return (
        Target("churn", "binary", ("yes",), yes, other="no"),
        Target("spend", "number", ("next_month",), number, options={"slack": 0.2}),
        Target("topics", "labels", ("sport", "news"), labels),
        Target("plan", "classes", ("a", "b", "c"), classes, options={"limit": 0.9}),
    )


def _table(targets: tuple[Target, ...] | None = None, copies: int = 1) -> TaskTable:
    random = np.random.default_rng(1)
    ages = random.normal(size=ROWS)
    ages[::7] = np.nan
    features = (
        Column("age", "number", ages),
        Column("visits", "number", random.normal(size=ROWS)),
        Column("region", "category", random.integers(-1, 3, ROWS).astype(np.int32), ("north", "south", "west")),
    )
    table = TaskTable(
        features,
        ("age", "visits", "region"),
        np.empty((ROWS, 0), dtype=np.int8),
        (),
        targets=_targets() if targets is None else targets,
    )
    return table.of_rows(np.tile(np.arange(ROWS), copies))


def _division(*, priority: str | None = None, tasks: dict[str, Any] | None = None, **split_options: Any) -> Division:
    options: dict[str, Any] = {"test_fraction": 0.25, "seed": 0, **split_options}
    of_tasks = TasksParameters.model_validate(tasks or {})
    return Division(SplitParameters(**options), FeatureParameters(), of_tasks, priority)


def _split(**options: Any) -> TableSplit:
    return split(_table(), _division(**options))


def test_the_named_task_comes_first_and_the_others_keep_their_order() -> None:
    assert [task.name for task in _split(priority="topics").train.tasks] == ["topics", "churn", "spend", "plan"]
    assert [task.name for task in _split().train.tasks] == ["churn", "spend", "topics", "plan"]


def test_a_limit_in_the_block_of_the_data_set_rests_while_its_task_has_priority() -> None:
    assert _split(priority="spend").train["spend"].options == {}


def test_options_of_the_command_line_count_before_those_of_the_data_set() -> None:
    tasks = _split(tasks={"spend": {"limit": 0.5}, "plan": {"limit": 0.7}}).train
    assert tasks["spend"].options == {"limit": 0.5}  # in place of the slack
    assert tasks["plan"].options == {"limit": 0.7}


def test_rows_without_a_target_take_no_part_in_that_task_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    parts = _split()
    assert parts.train["churn"].size + parts.test["churn"].size == ROWS - 20
    assert parts.train["spend"].size + parts.test["spend"].size == ROWS
    # One of its two labels is known in every row.
    assert parts.train["topics"].size + parts.test["topics"].size == ROWS
    assert "churn task (priority): binary, 'yes' or 'no', 20 samples without it take no part" in caplog.text


def test_a_number_is_standardised_by_the_training_part_alone() -> None:
    parts = _split()
    train, test = parts.train["spend"], parts.test["spend"]
    assert train.targets.mean().item() == pytest.approx(0, abs=1e-5)
    assert train.targets.std(correction=0).item() == pytest.approx(1, abs=1e-5)
    assert test.meaning == train.meaning
    table = _table()
    values = table.targets[1].values[parts.rows["test"].numpy(), 0]
    again = test.targets[:, 0] * test.meaning.scale + test.meaning.center
    torch.testing.assert_close(again, torch.from_numpy(values), rtol=1e-5, atol=1e-4)


def test_gaps_are_filled_and_features_scaled_by_the_training_part_alone() -> None:
    parts = _split()
    assert parts.train.table.isfinite().all()
    assert parts.test.table.isfinite().all()
    assert parts.train.table.mean(dim=0).abs().max() < 1e-5  # standard is the default of a table
    assert parts.test.table.mean(dim=0).abs().max() > 1e-3


def test_both_parts_have_the_same_share_of_every_target() -> None:
    parts = _split()
    for train, test in zip(parts.train.tasks, parts.test.tasks, strict=True):
        if train.meaning.kind != "number":
            torch.testing.assert_close(train.targets.nanmean(dim=0), test.targets.nanmean(dim=0), atol=0.03, rtol=0)
    assert parts.test["spend"].targets.mean().abs() < 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priority": "churm"}, r"'priority' names the task 'churm', which does not exist; did you mean 'churn'\?"),
        ({"tasks": {"spent": {"slack": 1}}}, r"'tasks.spent' names the task 'spent', .* did you mean 'spend'\?"),
        ({"tasks": {"churn": {"limit": 0.5}}}, r"tasks.churn.limit = 0.5, but 'churn' has priority and keeps no"),
        ({"tasks": {"plan": {"loss": "huber"}}}, r"tasks.plan.loss = 'huber' is not for a task of kind classes; it ca"),
        ({"tasks": {"plan": {"loss": "hubert"}}}, r"there is no loss 'hubert'"),
    ],
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigurationError, ValueError), match=message):
        task_targets(_table(), _division(**options))


def test_a_task_whose_target_is_nowhere_known_is_refused() -> None:
    empty = Target("empty", "number", ("x",), np.full((ROWS, 1), np.nan, dtype=np.float32))
    with pytest.raises(DataError, match="no sample of the training part has a target of the empty task"):
        split(_table((*_targets()[:1], empty)), _division())


def test_one_label_is_a_yes_or_no_question() -> None:
    table = TaskTable(
        np.zeros((4, 1), dtype=np.float32), ("x",), np.eye(4, 3, dtype=np.int8), ("a", "b", "c"), label_kind="labels"
    )
    first, second = task_targets(table, _division(tasks=None))
    assert (first.kind, first.outputs, first.other) == ("binary", ("a",), "not a")
    assert (second.kind, second.outputs) == ("labels", ("b", "c"))
    assert task_targets(table, _division(kind="distribution"))[1].kind == "distribution"


def test_copies_of_a_row_in_both_parts_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    split(_table(), _division())
    assert "are exact copies of a training row" not in caplog.text
    parts = split(_table(copies=2), _division())
    shared = len(set(parts.rows["test"].numpy() % ROWS) & set(parts.rows["train"].numpy() % ROWS))
    assert shared > 10
    assert f"{shared} of {2 * ROWS // 4} test rows are exact copies of a training row" in caplog.text


def test_a_split_depends_on_the_loss_of_a_task_but_not_on_its_limit() -> None:
    plain, limited, huber = (
        _split(tasks={"spend": options}).fingerprint["split_sha256"]
        for options in ({}, {"limit": 0.5}, {"loss": "huber"})
    )
    assert plain == limited != huber


def test_a_category_with_rare_values_only_is_told(caplog: pytest.LogCaptureFixture) -> None:
    table = _table()
    towns = Column("town", "category", np.arange(len(table), dtype=np.int32), tuple(map(str, range(len(table)))))
    assert isinstance(table.features, tuple)
    split(
        replace(table, features=(*table.features, towns), feature_names=(*table.feature_names, "town")),
        _division(),
    )
    assert [message for message in caplog.messages if "town" in message] == [
        "column 'town' says nothing to the model: each of its 150 values is in too few rows to learn from; a coarser "
        "column (a region for a town) would help"
    ]


def test_a_wrong_option_in_the_block_of_the_data_set_is_named() -> None:
    first, *others = _targets()
    targets = (first, replace(others[0], options={"slak": 0.2}), *others[1:])
    with pytest.raises(ConfigurationError, match=rf"'tasks.{others[0].task}.slak'; did you mean 'tasks.*slack'"):
        split(_table(targets), _division())
