"""What the catalog's validator lets pass, and how it says what it does not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from idbpd.datasets import ComposedDigitsDataset, TableValidator
from idbpd.datasets.table import Column, Origin, Target, TaskTable
from idbpd.datasets.tabular.columns import frame_to_table
from idbpd.errors import DataError

ROWS = 21
FEATURES = np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2)
LABELS = np.array([[0, 1], [1, 0], [1, 1]] * 7, dtype=np.int8)


def _table(**changes: Any) -> TaskTable:
    given: dict[str, Any] = {
        "features": FEATURES,
        "feature_names": ("x", "y"),
        "labels": LABELS,
        "label_names": ("p", "q"),
        "origin": Origin("file.arff", np.array([11, 12, *range(14, 14 + ROWS - 2)])),
    }
    return TaskTable(**(given | changes))


def test_a_good_table_passes_unchanged() -> None:
    table = _table()
    assert TableValidator(samples=ROWS, features=2, labels=2).validate(table) is table
    digits = ComposedDigitsDataset(pairs=300, seed=0).load()
    assert TableValidator(samples=300, features=100, labels=10).validate(digits) is digits


def _with(row: int, column: int, value: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    features = FEATURES.copy()
    features[row, column] = value
    return features


def _columns(value: float) -> tuple[Column, ...]:
    numbers = np.arange(ROWS, dtype=np.float64)
    numbers[2] = value
    return (Column("x", "category", np.zeros(ROWS, dtype=np.int32), ("a",)), Column("y", "number", numbers))


@pytest.mark.parametrize("features", [_with(2, 0, np.nan), _columns(np.nan)])
def test_a_missing_value_passes(features: Any) -> None:
    table = _table(features=features)
    assert TableValidator().validate(table) is table


def test_targets_need_no_labels() -> None:
    target = Target("t", "number", ("z",), np.arange(ROWS, dtype=np.float32)[:, None])
    labels = np.empty((ROWS, 0), dtype=np.int8)
    table = _table(features=_columns(1.0), labels=labels, label_names=(), targets=(target,))
    assert TableValidator().validate(table) is table


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": _with(1, 1, -np.inf)}, "file.arff, line 12: feature 'y' is infinite; numbers must be finite"),
        ({"features": csr_array(_with(2, 0, np.nan))}, "file.arff, line 14: feature 'x' is missing"),
        ({"features": csr_array(_with(2, 0, np.inf))}, "file.arff, line 14: feature 'x' is infinite"),
        ({"features": _columns(np.inf)}, "file.arff, line 14: feature 'y' is infinite; numbers must be finite"),
        ({"features": _columns(1e39)}, "file.arff, line 14: feature 'y' is 1e+39, which is too large"),
        (
            {"labels": np.where(np.arange(ROWS)[:, None] == 1, 2, LABELS).astype(np.int8)},
            "line 12: label 'p' is 2; a l",
        ),
        (
            {"labels": np.maximum(LABELS, [[0, 1]]).astype(np.int8)},
            f"file.arff: label 'q' is 1 in all {ROWS} rows; it must be 0 in some rows and 1 in others",
        ),
        ({"labels": np.zeros((ROWS, 2), dtype=np.int8)}, f"file.arff: label 'p' is 0 in all {ROWS} rows"),
        (
            {"features": FEATURES[:12], "labels": LABELS[:12]},
            "file.arff has 12 rows; at least 20 are needed to train a model on some and to judge it on others",
        ),
        (
            {"labels": np.empty((ROWS, 0), dtype=np.int8), "label_names": ()},
            "file.arff has nothing to predict; name the columns under 'tasks', such as tasks: {churn: churned}",
        ),
        ({"feature_names": ("x", "x")}, "file.arff: columns 1 and 2 are both named 'x'"),
        ({"label_names": ("p", "x")}, "file.arff: columns 1 and 4 are both named 'x'"),
        (
            {"labels": LABELS[:, :1], "label_names": ("p",)},
            f"file.arff has {ROWS} samples, 2 features and 1 labels; it needs at least 20, 1 and 2",
        ),
        (
            {"features": np.zeros((ROWS, 0), dtype=np.float32), "feature_names": ()},
            f"file.arff has {ROWS} samples, 0 features and 2 labels",
        ),
    ],
)
def test_a_table_that_cannot_be_trained_on_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        TableValidator().validate(_table(**changes))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"samples": 555}, f"file.arff has {ROWS} samples, expected 555: is it another file?"),
        ({"features": 49}, "file.arff has 2 features, expected 49"),
        ({"labels": 6}, "file.arff has 2 labels, expected 6"),
    ],
)
def test_counts_that_are_known_are_compared(counts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        TableValidator(**counts).validate(_table())
    assert message in str(error.value)


def test_a_data_frame_becomes_a_table() -> None:
    frame = pd.DataFrame(
        {
            "label:p": [0, 1, 1] * 7,
            "x": [1.5, 2, None] * 7,
            "group": ["u", "v", "u"] * 7,
            "label:q": [True, False, True] * 7,
            "y": [1, "two", None] * 7,
        }
    )
    table = TableValidator().validate(frame)
    assert (table.feature_names, table.label_names, table.label_kind) == (("x", "y"), ("p", "q"), "labels")
    assert isinstance(table.features, tuple)
    numbers, texts = table.features
    np.testing.assert_array_equal(numbers.values[:3], [1.5, 2, np.nan])
    assert (texts.values[:3].tolist(), texts.categories) == ([0, 1, -1], ("1", "two"))
    np.testing.assert_array_equal(table.labels[:3], [[0, 1], [1, 0], [1, 1]])
    assert table.groups is not None
    np.testing.assert_array_equal(table.groups[:3], [0, 1, 0])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("x", [1.0, np.inf, 2.0], "the table, row 2: feature 'x' is infinite"),
        ("label:p", [0, 2, 1], "the table, row 2: label 'p' is '2'; a label is 0 or 1, yes or no, true or false"),
        ("label:p", ["no", "maybe", "no"], "the table, row 2: label 'p' is 'maybe'; a label is 0 or 1"),
        ("label:p", [0, None, 1], "the table, row 2: label 'p' is missing; labels may have gaps if they are under"),
    ],
)
def test_a_bad_data_frame_is_refused(column: str, values: list[Any], message: str) -> None:
    frame = pd.DataFrame({"x": [1.5, 2, 3] * 7, "label:p": [0, 1, 1] * 7, "label:q": [1, 0, 1] * 7})
    frame[column] = values * 7
    with pytest.raises(DataError) as error:
        TableValidator().validate(frame)
    assert message in str(error.value)


def test_a_frame_with_a_column_twice_is_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(DataError, match="columns 1 and 2 are both named 'x'"):
        frame_to_table(frame, Origin())


def test_a_frame_without_rows_is_refused() -> None:
    with pytest.raises(DataError, match="the table has columns but no rows"):
        frame_to_table(pd.DataFrame({"x": [], "label:p": [], "label:q": []}), Origin())


def test_anything_else_is_refused() -> None:
    with pytest.raises(DataError, match="must load a TaskTable or a pandas DataFrame, not list"):
        TableValidator().validate([1, 2])  # type: ignore[arg-type]
