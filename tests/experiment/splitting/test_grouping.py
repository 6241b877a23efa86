"""Which samples belong to which group, for a worst case over groups."""

import logging
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from idbpd.datasets.table import Column, Target, TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import FeatureParameters, ProblemSettings, SplitParameters, TasksParameters
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import TableSplit, split

ROWS = 300


def _table(**more: Any) -> TaskTable:
    random = np.random.default_rng(0)
    region = random.integers(0, 3, ROWS).astype(np.int32)
    region[::10] = -1
    yes = (random.random((ROWS, 2)) < 0.4).astype(np.float32)
    yes[5, 0] = np.nan
    columns = (
        Column("age", "number", random.normal(size=ROWS)),
        Column("children", "number", random.integers(0, 3, ROWS).astype(np.float64)),
        Column("born", "date", random.random(ROWS) * 1e9),
        Column("region", "category", region, ("north", "south", "west", "nowhere")),
    )
    given: dict[str, Any] = {
        "features": columns,
        "feature_names": tuple(column.name for column in columns),
        "labels": np.empty((ROWS, 0), dtype=np.int8),
        "label_names": (),
        "targets": (
            Target("churn", "binary", ("yes",), yes[:, :1], other="no"),
            Target("upsell", "binary", ("yes",), yes[:, 1:], other="no"),
            Target("spend", "number", ("spend",), random.normal(size=(ROWS, 1)).astype(np.float32)),
        ),
        "grouping": {"sex": Column("sex", "category", random.integers(0, 2, ROWS).astype(np.int32), ("f", "m"))},
    }
    return TaskTable(**given | more)


def _split(worst_case: Any = "penalty", table: TaskTable | None = None, **of_tasks: Any) -> TableSplit:
    tasks = TasksParameters.model_validate({task: {"worst_case": given} for task, given in of_tasks.items()})
    problem = ProblemSettings.model_validate({"lambda": 0.1, "weight_decay": "auto", "worst_case": worst_case})
    how = SplitParameters(test_fraction=0.25, seed=0)
    return split(_table() if table is None else table, Division(how, FeatureParameters(), tasks, None, problem))


def test_a_task_has_the_groups_that_its_worst_case_names_and_others_have_none() -> None:
    table = _table()
    parts = _split(upsell={"groups": "region"})
    for part in ("train", "test"):
        data = getattr(parts, part)
        task = data["upsell"]
        assert task.group_names == ("north", "south", "west", "(missing)")  # nowhere has no rows
        assert isinstance(table.features, tuple)
        expected = table.features[3].values[parts.rows[part].numpy()][task.rows.numpy()]
        assert task.groups is not None
        np.testing.assert_array_equal(task.groups.numpy(), np.where(expected < 0, 3, expected))
        assert data["churn"].groups is None


def test_the_groups_are_those_of_the_samples_that_take_part() -> None:
    """A row without a target is none of the task's samples."""
    parts = _split({"groups": "sex"})
    for data in (parts.train, parts.test):
        for task in data.tasks:
            assert task.groups is not None
            assert task.groups.shape == task.rows.shape
    sex = _table().grouping["sex"].values
    rows = parts.rows["train"][parts.train["churn"].rows].numpy()
    assert 5 not in rows
    np.testing.assert_array_equal(parts.train["churn"].groups, sex[rows])


def test_several_columns_are_crossed() -> None:
    names = _split({"groups": "sex+children"}).train["churn"].group_names
    assert names == ("f, 0", "f, 1", "f, 2", "m, 0", "m, 1", "m, 2")
    assert _split({"groups": ["sex", "children"]}).train["churn"].group_names == names


def test_a_label_a_number_of_a_matrix_and_the_answer_of_a_task_can_be_groups() -> None:
    random = np.random.default_rng(0)
    labels = (random.random((ROWS, 4)) < 0.5).astype(np.int8)
    matrix = random.integers(0, 2, (ROWS, 2)).astype(np.float32)
    for features in (matrix, csr_array(matrix)):
        table = TaskTable(features, ("a", "b"), labels, tuple("wxyz"))
        for column in ("b", "z"):
            task = _split({"groups": column}, table).train.priority
            assert task.group_names == ("0", "1")
    churn = _split(upsell={"groups": "churn"}).train["upsell"]
    assert churn.group_names == ("no", "yes and small groups")  # one row has no answer


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (
            "regon",
            "problem.worst_case.groups names the column 'regon', which the table does not have; did you mean 'region'? "
            "columns are sex, age, children, born, region and 2 more; one that is ignored must also be under 'groups'",
        ),
        ("age", "problem.worst_case.groups names 'age', which has 300 different numbers: groups are categories, or at"),
        ("born", "problem.worst_case.groups names 'born', which is a date"),
        ("spend", "problem.worst_case.groups names the task 'spend', which is of kind number: groups can be the"),
    ],
)
def test_a_column_that_makes_no_groups_is_refused(column: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        _split({"groups": column})
    assert words in str(raised.value)
    with pytest.raises(ConfigurationError, match=r"^tasks\.upsell\.worst_case\.groups names "):
        _split(upsell={"groups": column})


def _small(sizes: dict[str, int]) -> TaskTable:
    """A table in whose training part the first groups have so many samples, and the last one has the rest."""
    names = (*sizes, "rest")
    codes = np.full(ROWS, len(sizes), dtype=np.int32)
    train = iter(_split().rows["train"].numpy())
    for at, size in enumerate(sizes.values()):
        for _ in range(size):
            codes[next(train)] = at
    return _table(grouping={"kind": Column("kind", "category", codes, names)})


def _told(sizes: dict[str, int], caplog: pytest.LogCaptureFixture) -> tuple[tuple[str, ...], list[str]]:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        task = _split(table=_small(sizes), upsell={"groups": "kind"}).train["upsell"]
    assert task.groups is not None
    assert int(task.groups.max()) == len(task.group_names) - 1
    return task.group_names, [line for line in caplog.messages if "groups of kind" in line]


def test_small_groups_and_groups_without_test_samples_are_told(caplog: pytest.LogCaptureFixture) -> None:
    names, told = _told({"a": 6, "b": 30}, caplog)
    assert names == ("a", "b", "rest")
    assert told == [
        "upsell task: of the groups of kind, 'a' (6) have fewer than 20 training samples: their mean losses say "
        "little, and each of them may decide the worst case",
        "upsell task: of the groups of kind, 'a', 'b' have no test sample: nothing shows how good the model is there",
    ]


def test_groups_of_three_people_count_as_one(caplog: pytest.LogCaptureFixture) -> None:
    names, told = _told({"a": 3, "b": 30, "c": 2}, caplog)
    assert names == ("b", "rest", "(small groups)")
    assert told[0] == (
        "upsell task: of the groups of kind, those with fewer than 5 training samples count as one, '(small groups)': "
        "'a' (3), 'c' (2)"
    )


def test_a_group_of_three_people_joins_the_next_smallest(caplog: pytest.LogCaptureFixture) -> None:
    names, told = _told({"a": 3, "b": 30, "c": 50}, caplog)
    assert names == ("c", "rest", "b and small groups")
    assert told[0].endswith("count as one, 'b and small groups': 'a' (3)")


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"a": 3}, "with fewer than 5 training samples are 'a' (3)"),
        ({}, "its column has one value"),
    ],
)
def test_a_single_group_is_refused(sizes: dict[str, int], why: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        _split(table=_small(sizes), upsell={"groups": "kind"})
    assert str(raised.value) == (
        f"tasks.upsell.worst_case.groups = kind makes one group of at least 5 training samples; {why}; name another "
        "column, or take another worst case, such as share"
    )


def test_a_group_that_is_only_in_the_test_part_is_a_small_one() -> None:
    rows, codes = _split().rows["test"].numpy(), np.ones(ROWS, dtype=np.int32)
    codes[: ROWS // 2] = 2
    codes[rows[:8]] = 0
    table = _table(grouping={"kind": Column("kind", "category", codes, ("new", "b", "c"))})
    parts = _split(table=table, upsell={"groups": "kind"})
    assert [name for name in parts.test["upsell"].group_names if "small groups" in name]


def test_groups_that_a_task_predicts_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _split(upsell={"groups": "churn"})
    assert (
        "upsell task: its groups are made of 'churn', which a task predicts: they are classes, and nobody knows the "
        "group of a new row"
    ) in caplog.messages


def test_a_share_below_one_sample_is_refused_before_training() -> None:
    words = (
        r"the worst case of the churn task: share = 0.01 of \d+ samples is less than one sample; .*, in the test part"
    )
    with pytest.raises(ConfigurationError, match=words):
        _split({"share": 0.01})


def test_the_fingerprint_knows_worst_cases_of_tasks_and_groups() -> None:
    first = _split().fingerprint
    own = _split(upsell={"share": 0.5}).fingerprint
    grouped, crossed = _split({"groups": "sex"}).fingerprint, _split({"groups": "sex+children"}).fingerprint
    assert len({one["split_sha256"] for one in (first, own, grouped, crossed)}) == 4
    assert len({one["data_sha256"] for one in (first, own, grouped, crossed)}) == 1
    swapped = Column("sex", "category", 1 - _table().grouping["sex"].values, ("f", "m"))
    assert _split(table=_table(grouping={"sex": swapped})).fingerprint["data_sha256"] != first["data_sha256"]


def test_groups_move_with_the_data() -> None:
    moved = _split({"groups": "sex"}).train.to(torch.device("meta"), torch.float32)
    assert moved.priority.groups is not None
    assert moved.priority.groups.device.type == "meta"
