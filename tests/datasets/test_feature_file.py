"""A file to score: its columns are read as they are, and what cannot be read is told with its place."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kedro.io import DatasetError

from idbpd.datasets import FeatureFileDataset, PredictionsDataset
from idbpd.datasets.feature_file import FeatureFile
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.features import encode, fit_encoding
from tests.experiment.features.tables import number, table_of

ARFF = "@relation x\n@attribute age numeric\n@attribute flag {0,1}\n@attribute size numeric\n@data\n1,0,2\n3,1,?\n"


def _load(path: Path) -> FeatureFile:
    return FeatureFileDataset(file=str(path), parameter="input").load()


@pytest.mark.parametrize("kind", ["csv", "tsv", "CSV.gz", "parquet", "arff"])
def test_the_columns_are_read_as_they_are_with_their_gaps(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"table.{kind}"
    frame = pd.DataFrame({"age": [1, 3], "flag": [0, 1], "size": [2.0, None]})
    if kind in ("csv", "tsv", "CSV.gz"):
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text(ARFF)
    file = _load(path)
    assert list(file.frame.columns) == ["age", "flag", "size"]
    encoding = fit_encoding(table_of(*(number(str(name), [0.0, 4.0]) for name in file.frame)), np.arange(2))
    matrix, replaced = encode(file.frame, encoding)
    assert matrix.tolist() == [[1, 0, 2], [3, 1, 2]]
    assert replaced == ["", "size missing, 2 used"]
    assert file.origin.name == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,age\n1,2\n3,4,5\n", r"table.csv, line 3: the row has 3 values, but the header names 2 columns"),
        ("size,size\n1,2\n", r"table.csv: columns 1 and 2 are both named 'size'"),
        ("size,age\n", r"table.csv: the table has columns but no rows"),
        ("", r"table.csv: the file is empty"),
    ],
)
def test_an_unusable_table_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    # Kedro wraps what loading raises; the command shows what we said.
    with pytest.raises((DataError, DatasetError), match=message):
        _load(path)


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
