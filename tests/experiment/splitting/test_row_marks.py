"""Which rows of a later table a model was trained on."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from idbpd.datasets.table import Column, TaskTable
from idbpd.experiment.splitting.row_marks import COLUMNS, MARKS, are_seen, seen_rows


def _numbers(rows: int, names: tuple[str, ...] = ("u", "v")) -> TaskTable:
    features = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
    return TaskTable(features, names, np.ones((rows, 1), np.int8), ("a",))


def _mixed(work: list[str], age: list[float]) -> TaskTable:
    words = tuple(sorted(set(work)))
    columns = (
        Column("work", "category", np.array([words.index(word) for word in work], np.int32), words),
        Column("age", "number", np.array(age)),
    )
    return TaskTable(columns, ("work", "age"), np.ones((len(work), 1), np.int8), ("a",))


def _seen(table: TaskTable, later: TaskTable, rows: list[int]) -> list[bool]:
    found = are_seen(later, np.arange(len(later)), seen_rows(table, np.array(rows)))
    assert found is not None
    return [bool(one) for one in found]


def test_a_table_that_has_grown_has_the_old_rows() -> None:
    assert _seen(_numbers(4), _numbers(6), [0, 2]) == [True, False, True, False, False, False]


def test_a_new_category_changes_no_mark_of_the_others() -> None:
    before = _mixed(["farm", "office"], [30.0, float("nan")])
    after = _mixed(["farm", "army", "office"], [30.0, 30.0, float("nan")])
    assert _seen(before, after, [0, 1]) == [True, False, True]


def test_a_corrected_target_is_no_new_row_and_a_corrected_feature_is() -> None:
    before = _numbers(3)
    assert _seen(before, replace(before, labels=np.zeros((3, 1), np.int8)), [0, 1, 2]) == [True] * 3
    features: Any = before.features
    other = features.copy()
    other[1, 0] += 1
    assert _seen(before, replace(before, features=other), [0, 1, 2]) == [True, False, True]


def test_sparse_features_have_the_marks_of_dense_ones() -> None:
    dense = _numbers(5)
    sparse = replace(dense, features=csr_array(dense.features))
    assert _seen(dense, sparse, [1]) == [False, True, False, False, False]


def test_marks_of_other_columns_say_nothing() -> None:
    marks = seen_rows(_numbers(3), np.arange(3))
    assert are_seen(_numbers(3, ("u", "w")), np.arange(3), marks) is None
    assert are_seen(_numbers(3), np.arange(3), None) is None


def test_marks_are_the_same_in_every_process() -> None:
    table = TaskTable(np.array([[1, 0], [2, -0.0]], np.float32), ("u", "v"), np.ones((2, 1), np.int8), ("a",))
    marks = seen_rows(table, np.array([0, 1, 1]))
    assert marks[MARKS].tolist() == [3966074049719220187, 6855828697283317471]
    assert marks[COLUMNS].tolist() == [-3750522298460341887]
