"""A file to score: the model's features are found by name, and what is wrong is told with its place."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kedro.io import DatasetError

from idbpd.datasets import FeatureFileDataset, PredictionsDataset
from idbpd.errors import ConfigurationError, DataError

NAMES = ("size", "age")
ARFF = "@relation x\n@attribute age numeric\n@attribute flag {0,1}\n@attribute size numeric\n@data\n1,0,2\n3,1,4\n"


def _matrix(path: Path, names: tuple[str, ...] = NAMES) -> np.ndarray:
    return FeatureFileDataset(file=str(path), parameter="input").load().matrix(names)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arff"])
def test_columns_are_found_by_name_in_any_order_and_others_are_left_out(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"table.{kind}"
    frame = pd.DataFrame({"age": [1, 3], "flag": ["a", "b"], "size": [2.0, 4.0]})
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text(ARFF)
    np.testing.assert_array_equal(_matrix(path), [[2, 1], [4, 3]])


def test_a_categorical_column_becomes_the_features_that_it_was_in_training(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("ward,age\neast,1\nnorth,2\n")
    names = ("ward=east", "ward=north", "ward=west", "age")
    np.testing.assert_array_equal(_matrix(path, names), [[1, 0, 0, 1], [0, 1, 0, 2]])
    with pytest.raises(DataError, match=r"line 3: 'ward' is 'north', which the model does not know; it knows east, we"):
        _matrix(path, ("ward=east", "ward=west", "age"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age\n1\n", r"table.csv: 1 of the model's 2 features are missing, the first is 'size'; its columns are age"),
        ("a,b\n1,2\n", r"table.csv has none of the model's features; its columns are a, b"),
        ("size,age\n1,2\n3,\n", r"table.csv, line 3: feature 'age' is missing \(or not a number\)"),
        ("size,age\n1,2\n3,inf\n", r"table.csv, line 3: feature 'age' is too large"),
        ("size,age\n1,2\n3,old\n", r"table.csv, line 3: feature 'age' is 'old', which is not a number"),
        ("size,age\n1,2\n3,4,5\n", r"table.csv, line 3: the row has 3 values, but the header names 2 columns"),
        ("size,age\n", r"table.csv: the table has columns but no rows"),
        ("", r"table.csv: the file is empty"),
    ],
)
def test_an_unusable_table_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    # Kedro wraps what loading raises; the command shows what we said.
    with pytest.raises((DataError, DatasetError), match=message):
        _matrix(path)


def test_a_missing_value_of_an_arff_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.arff"
    path.write_text(ARFF.replace("3,1,4", "3,1,?"))
    with pytest.raises(DataError, match=r"table.arff, line 7: feature 'size' is missing"):
        _matrix(path)


def test_paths_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="parameter 'input' is missing; for example: kedro run --pipeline pre"):
        FeatureFileDataset(file=None, parameter="input")
    with pytest.raises(ConfigurationError, match=r"'output' = 'a.xls' is not valid: the file name must end in .csv or"):
        PredictionsDataset(file="a.xls", parameter="output")
    with pytest.raises(DatasetError, match=r"cannot read .*table.csv: no such file or directory"):
        FeatureFileDataset(file=str(tmp_path / "table.csv"), parameter="input").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predictions_come_back_as_they_were(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"priority:3": [0.1, 1 / 3], "constraint:a b": [0.9, 2 / 3]})
    dataset = PredictionsDataset(file=str(tmp_path / "folder" / f"scores.{kind}"), parameter="output")
    dataset.save(frame)
    pd.testing.assert_frame_equal(dataset.load(), frame)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == [f"scores.{kind}"]
