"""A user's own CSV or Parquet file."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from kedro.io import AbstractDataset, DatasetError

from idbpd.datasets import TabularDataset
from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError, InputError

CSV = """age,ward,flu,stroke,visit,name
61,east,0,1,7,"Smith, Ann"
35.5,west,1,0,7,Bob
-4e1,east,1,1,8,"two
lines"

12,north,0,0,9,Cy
"""
ROLES: dict[str, Any] = {
    "tasks": {"urgent": ["stroke"], "routine": ["flu"]},
    "categorical": ["ward"],
    "ignore": ["name"],
    "group": "visit",
}


def _load(tmp_path: Path, text: str | bytes, **options: Any) -> TaskTable:
    path = tmp_path / "patients.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    try:
        return TabularDataset(filepath=str(path), **options).load()
    except DatasetError as error:
        if isinstance(error.__cause__, InputError):
            raise error.__cause__ from None
        raise


def test_columns_get_their_roles(tmp_path: Path) -> None:
    table = _load(tmp_path, CSV, **ROLES)
    assert table.feature_names == ("age", "ward=east", "ward=north", "ward=west")
    np.testing.assert_array_equal(
        table.features, np.array([[61, 1, 0, 0], [35.5, 0, 0, 1], [-40, 1, 0, 0], [12, 0, 1, 0]], dtype=np.float32)
    )
    assert table.label_names == ("stroke", "flu")
    np.testing.assert_array_equal(table.labels, [[1, 0], [0, 1], [1, 1], [0, 0]])
    np.testing.assert_array_equal(table.groups, [0, 0, 1, 2])
    assert table.tasks == {"urgent": ("stroke",), "routine": ("flu",)}
    assert [table.origin.of(row).rpartition(" ")[2] for row in range(4)] == ["2", "3", "4", "7"]


def test_parquet_gives_what_csv_gives(tmp_path: Path) -> None:
    from_csv = _load(tmp_path, CSV, **ROLES)
    frame = pd.read_csv(tmp_path / "patients.csv")
    frame["flu"] = frame["flu"].astype(bool)
    frame.index = pd.Index(range(7, 7 + len(frame)))[::-1]  # kept in the file as a column, and no feature
    frame.to_parquet(tmp_path / "patients.parquet")
    table = TabularDataset(filepath=str(tmp_path / "patients.parquet"), **ROLES).load()
    np.testing.assert_array_equal(table.features, from_csv.features)
    np.testing.assert_array_equal(table.labels, from_csv.labels)
    assert table.origin.of(0).endswith("patients.parquet, row 1")


def test_labels_without_tasks_and_columns_that_say_so_themselves(tmp_path: Path) -> None:
    table = _load(tmp_path, "x,label:a,label:b\n1,0,1\n2,1,0\n")
    assert (table.feature_names, table.label_names, table.tasks) == (("x",), ("a", "b"), None)
    table = _load(tmp_path, "x;a;b\n1,5;0;1\n", labels=["b"], ignore=["a", "x"], delimiter=";")
    assert (table.feature_names, table.label_names) == ((), ("b",))


def test_names_that_yaml_reads_as_numbers_and_labels_with_their_prefix(tmp_path: Path) -> None:
    text = "2024,2025,2026,label:a\n1,0,1,1\n2,1,0,0\n"
    table = _load(tmp_path, text, tasks={"x": [2025, 2026], "y": ["label:a"]})
    assert (table.feature_names, table.label_names) == (("2024",), ("2025", "2026", "a"))
    assert table.tasks == {"x": ("2025", "2026"), "y": ("a",)}


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
    text = "größe,label:a,label:b\n1,0,1\n"
    assert _load(tmp_path, text.encode("latin-1"), encoding="latin-1").feature_names == ("größe",)
    assert _load(tmp_path, text.encode("utf-8-sig")).feature_names == ("größe",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "patients.csv: the file is empty"),
        ("\n \n", "patients.csv: the file is empty"),
        ("x,label:a,label:b\n", "patients.csv: the table has columns but no rows"),
        ("x,x,label:a\n1,2,0\n", "patients.csv: columns 1 and 2 are both named 'x'"),
        (
            "x,label:a,label:b\n1,0,1\n2,0\n",
            "patients.csv, line 3: the row has 2 values, but the header names 3 columns",
        ),
        ("x,label:a,label:b\n1,0,1,1\n", "patients.csv, line 2: the row has 4 values, but the header names 3 columns"),
        ("x,label:a,label:b\n1,0,1\n2,yes,0\n", "patients.csv, line 3: label 'a' is 'yes'; a label is 0 or 1"),
        ("x,label:a,label:b\n1,0,1\n2,,0\n", "patients.csv, line 3: label 'a' is missing; a label is 0 or 1"),
        ("x,label:a,label:b\n1,0,1\n2,3,0\n", "patients.csv, line 3: label 'a' is 3; a label is 0 or 1"),
        ("x,label:a,label:b\n1,0,1\n2,0.5,0\n", "patients.csv, line 3: label 'a' is 0.5; a label is 0 or 1"),
        ("x,label:a,label:b\n1,0,1\ntwo,1,0\n", "line 3: feature 'x' is 'two', which is not a number; list the"),
        ('x,label:a,label:b\n"1\n",0,1\n\n2,0\n', "patients.csv, line 5: the row has 2 values, but the header"),
        ("x,label:a,label:b\n,0,1\n,1,0\n", "feature 'x' has no values; leave it out with ignore: [x]"),
        (b"x,label:a,label:b\n1,0,1\n\xe4,1,0\n", "patients.csv, line 3: byte 0xe4 is not utf-8; name the file's enc"),
        ("x,label:a\n1,0\n".encode("utf-16-le"), "patients.csv, line 1: zero byte; the file is not text, or needs"),
    ],
)
def test_a_bad_file_is_named_with_the_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["flu"], "tasks": {"a": ["flu"]}}, "both 'labels' and 'tasks' name the labels; keep one of them"),
        ({"tasks": {"a": ["flu"], "b": ["flu"]}}, "label 'flu' is in 'tasks' twice"),
        ({"labels": ["flu", "strok"]}, "patients.csv has no column 'strok'; did you mean 'stroke'?"),
        ({"labels": ["xyz"]}, "has no column 'xyz'; its columns are age, ward, flu, stroke, visit, name"),
        ({"labels": ["flu"], "group": "patient"}, "has no column 'patient'"),
        ({"labels": ["flu"]}, "feature 'ward' is 'east', which is not a number"),
        ({"encoding": "klingon"}, "encoding 'klingon' is not known"),
        ({"version_": 1}, "version_"),
    ],
)
def test_a_bad_block_is_named(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = tmp_path / "patients.csv"
    path.write_text(CSV)
    config = {"type": "idbpd.datasets.TabularDataset", "filepath": str(path), **options}
    with pytest.raises((DatasetError, InputError)) as error:
        AbstractDataset.from_config("patients", config).load()
    assert message in str(error.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.xlsx: the file name must end in .csv or .parquet"):
        TabularDataset(filepath=str(tmp_path / "a.xlsx"))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing of the kind PAR1")
    with pytest.raises(DatasetError, match=r"a.parquet: not a Parquet file, or a damaged one"):
        TabularDataset(filepath=str(tmp_path / "a.parquet"), labels=["x"]).load()
    with pytest.raises(DatasetError, match=r"cannot read .*b.csv: no such file"):
        TabularDataset(filepath=str(tmp_path / "b.csv")).load()


def test_a_parquet_file_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    columns = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    pyarrow.parquet.write_table(columns, tmp_path / "a.parquet")
    with pytest.raises(DatasetError, match="columns 1 and 2 are both named 'x'") as error:
        TabularDataset(filepath=str(tmp_path / "a.parquet"), labels=["x"]).load()
    assert isinstance(error.value.__cause__, DataError)
