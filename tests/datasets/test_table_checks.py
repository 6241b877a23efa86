"""What the catalog's validator lets pass, and how it says what it does not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from idbpd.datasets import ComposedDigitsDataset, TableValidator
from idbpd.datasets.columns import frame_to_table
from idbpd.datasets.table import Origin, TaskTable
from idbpd.errors import DataError


def _table(**changes: Any) -> TaskTable:
    given: dict[str, Any] = {
        "features": np.arange(6, dtype=np.float32).reshape(3, 2),
        "feature_names": ("x", "y"),
        "labels": np.array([[0, 1], [1, 0], [1, 1]], dtype=np.int8),
        "label_names": ("p", "q"),
        "origin": Origin("file.arff", np.array([11, 12, 14])),
    }
    return TaskTable(**(given | changes))


def test_a_good_table_passes_unchanged() -> None:
    table = _table()
    assert TableValidator(samples=3, features=2, labels=2).validate(table) is table
    digits = ComposedDigitsDataset(pairs=300, seed=0).load()
    assert TableValidator(samples=300, features=100, labels=10).validate(digits) is digits


def _with(row: int, column: int, value: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    features = np.arange(6, dtype=np.float32).reshape(3, 2)
    features[row, column] = value
    return features


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": _with(2, 0, np.nan)}, "file.arff, line 14: feature 'x' is missing (or not a number); features"),
        ({"features": _with(1, 1, -np.inf)}, "file.arff, line 12: feature 'y' is too large; features must be finite"),
        ({"features": csr_array(_with(2, 0, np.nan))}, "file.arff, line 14: feature 'x' is missing"),
        ({"labels": np.array([[0, 1], [1, 2], [1, 1]], dtype=np.int8)}, "file.arff, line 12: label 'q' is 2; a label"),
        (
            {"labels": np.array([[0, 1], [1, 1], [1, 1]], dtype=np.int8)},
            "file.arff: label 'q' is 1 in all 3 rows; it must be 0 in some rows and 1 in others",
        ),
        ({"labels": np.zeros((3, 2), dtype=np.int8)}, "file.arff: label 'p' is 0 in all 3 rows"),
        ({"feature_names": ("x", "x")}, "file.arff: columns 1 and 2 are both named 'x'"),
        ({"label_names": ("p", "x")}, "file.arff: columns 1 and 4 are both named 'x'"),
        (
            {"labels": np.array([[0], [1], [1]], dtype=np.int8), "label_names": ("p",)},
            "file.arff has 3 samples, 2 features and 1 labels; it needs at least 1, 1 and 2",
        ),
        (
            {"features": np.zeros((3, 0), dtype=np.float32), "feature_names": ()},
            "file.arff has 3 samples, 0 features and 2 labels",
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
        ({"samples": 555}, "file.arff has 3 samples, expected 555: is it another file?"),
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
            "label:p": [0, 1, 1],
            "x": [1.5, 2, 3],
            "group": ["u", "v", "u"],
            "label:q": [True, False, True],
            "y": [1, 2, 3],
        }
    )
    table = TableValidator().validate(frame)
    assert (table.feature_names, table.label_names) == (("x", "y"), ("p", "q"))
    np.testing.assert_array_equal(table.features, np.array([[1.5, 1], [2, 2], [3, 3]], dtype=np.float32))
    np.testing.assert_array_equal(table.labels, [[0, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(table.groups, [0, 1, 0])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("x", [1.0, None, 2.0], "the table, row 2: feature 'x' is missing"),
        ("x", ["a", "b", "c"], "the table, row 1: feature 'x' is 'a', which is not a number"),
        ("label:p", [0, 2, 1], "the table, row 2: label 'p' is 2; a label is 0 or 1"),
        ("label:p", ["no", "yes", "no"], "the table, row 1: label 'p' is 'no'; a label is 0 or 1"),
        ("label:p", [0, None, 1], "the table, row 2: label 'p' is missing; a label is 0 or 1"),
    ],
)
def test_a_bad_data_frame_is_refused(column: str, values: list[Any], message: str) -> None:
    frame = pd.DataFrame({"x": [1.5, 2, 3], "label:p": [0, 1, 1], "label:q": [1, 0, 1]})
    frame[column] = values
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
