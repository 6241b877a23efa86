"""A user's own CSV or Parquet file."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from kedro.io import AbstractDataset, DatasetError, Version

from idbpd.datasets import TableValidator, TabularDataset
from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError, InputError
from tests.real_data import ROOT, needs_tables

CSV = """age,ward,flu,stroke,visit,name
61,east,0,1,7,"Smith, Ann"
35.5,west,1,0,7,Bob
-4e1,east,1,1,8,"two
lines"

12,north,0,0,9,Cy
"""
ROLES: dict[str, Any] = {
    "tasks": {"urgent": "stroke", "routine": ["flu"]},
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


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


def _values(table: TaskTable) -> dict[str, list[Any]]:
    return {str(name): column.tolist() for name, column in table.frame(slice(None)).items()}


def test_columns_get_their_roles(tmp_path: Path) -> None:
    table = _load(tmp_path, CSV, **ROLES)
    assert table.feature_names == ("age", "ward")
    assert _values(table) == {"age": [61, 35.5, -40, 12], "ward": ["east", "west", "east", "north"]}
    urgent, routine = table.targets
    assert (urgent.task, urgent.kind, urgent.outputs, urgent.other) == ("urgent", "binary", ("1",), "0")
    assert (routine.task, routine.kind, routine.outputs) == ("routine", "labels", ("flu",))
    np.testing.assert_array_equal(np.hstack([urgent.values, routine.values]), [[1, 0], [0, 1], [1, 1], [0, 0]])
    np.testing.assert_array_equal(table.groups, [0, 0, 1, 2])
    assert (table.label_names, table.tasks) == ((), None)
    assert [table.origin.of(row).rpartition(" ")[2] for row in range(4)] == ["2", "3", "4", "7"]


def test_parquet_gives_what_csv_gives(tmp_path: Path) -> None:
    from_csv = _load(tmp_path, CSV, **ROLES)
    frame = pd.read_csv(tmp_path / "patients.csv")
    frame["flu"] = frame["flu"].astype(bool)
    frame.index = pd.Index(range(7, 7 + len(frame)))[::-1]  # kept in the file as a column, and no feature
    frame.to_parquet(tmp_path / "patients.parquet")
    table = TabularDataset(filepath=str(tmp_path / "patients.parquet"), **ROLES).load()
    assert _values(table) == _values(from_csv)
    for one, other in zip(table.targets, from_csv.targets, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    assert table.origin.of(0).endswith("patients.parquet, row 1")


def test_labels_without_tasks_and_columns_that_say_so_themselves(tmp_path: Path) -> None:
    table = _load(tmp_path, "x,colour,label:a,label:b\n1,red,0,yes\n2,blue,1,no\n")
    assert (table.feature_names, table.label_names, table.tasks) == (("x", "colour"), ("a", "b"), None)
    assert (table.label_kind, table.targets) == ("labels", ())
    np.testing.assert_array_equal(table.labels, [[0, 1], [1, 0]])
    table = _load(tmp_path, "x;a;b\n1,5;0;1\n2,5;0;0\n", labels=["b"], ignore=["a"], delimiter=";")
    assert (_values(table), table.label_names) == ({"x": [1.5, 2.5]}, ("b",))


def test_names_that_yaml_reads_as_numbers_and_labels_with_their_prefix(tmp_path: Path) -> None:
    text = "2024,2025,2026,label:a\n1,0,1,1\n2,1,0,0\n"
    table = _load(tmp_path, text, tasks={"x": [2025, 2026], "y": ["label:a"]})
    assert table.feature_names == ("2024",)
    assert {target.task: target.outputs for target in table.targets} == {"x": ("2025", "2026"), "y": ("a",)}


def test_several_files_are_one_table_and_lines_are_those_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "one.data").write_text("x, y, colour\n1, 0, red\n2, 1, blue\n")
    (tmp_path / "two.test").write_text("y, x, colour\n1, 3, red\n0, 4, ?\n")
    files = [str(tmp_path / "one.data"), str(tmp_path / "two.test")]
    dataset = TabularDataset(filepath=files, tasks={"t": "y"})
    assert dataset.exists()
    table = dataset.load()
    assert _values(table) == {"x": [1, 2, 3, 4], "colour": ["red", "blue", "red", None]}
    assert table.targets[0].values[:, 0].tolist() == [0, 1, 1, 0]
    assert [table.origin.of(row) for row in (1, 3)] == [f"{files[0]}, line 3", f"{files[1]}, line 3"]
    assert table.of_rows(np.array([3, 1])).origin.of(0) == f"{files[1]}, line 3"
    (tmp_path / "two.test").write_text("x,z,y\n3,1,1\n")
    with pytest.raises(DatasetError, match=r"two.test and .*one.data have different columns: colour, z in one of them"):
        dataset.load()
    (tmp_path / "two.test").unlink()
    assert not dataset.exists()
    with pytest.raises(InputError, match="several files cannot be versioned"):
        TabularDataset(filepath=files, version=Version(None, None))


def test_identifiers_are_remembered_also_those_that_people_leave_out(tmp_path: Path) -> None:
    lines = ["customer,row,order_id,household,x,y"]
    lines += [f"c{at},{at},{at * 7919 % 10007},h{at % 9},{at % 5},{at % 2}" for at in range(40)]
    table = _load(tmp_path, "\n".join(lines), tasks={"t": "y"}, ignore=["customer"], group="household")
    assert table.feature_names == ("x",)
    assert table.identifiers == ("customer", "row", "order_id")
    assert table.groups is not None
    assert len(np.unique(table.groups)) == 9


def test_a_row_without_a_group_is_a_group_of_its_own(tmp_path: Path) -> None:
    table = _load(tmp_path, "x,y,g\n1,0,a\n2,1,?\n3,0,a\n4,1,\n", tasks={"t": "y"}, group="g")
    assert table.groups is not None
    assert table.groups.tolist() == [0, 1, 0, 2]


def test_columns_are_kept_for_grouping_whatever_else_they_are(tmp_path: Path) -> None:
    text = "x,sex,region,kind,y\n1,f,n,1,0\n2,m,s,2,1\n3,,n,1,0\n4,m,n,2,1\n"
    tasks = {"t": {"column": "y", "worst_case": {"groups": "region+kind"}}, "u": {"column": "x", "kind": "number"}}
    table = _load(tmp_path, text, tasks=tasks, ignore=["sex"], groups=["sex"])
    assert "sex" not in table.feature_names
    assert {name: (column.values.tolist(), column.categories) for name, column in table.grouping.items()} == {
        "sex": ([0, 1, -1, 1], ("f", "m")),
        "region": ([0, 1, 0, 0], ("n", "s")),
        "kind": ([0, 1, 0, 1], ("1", "2")),
    }
    assert table.of_rows(np.array([2, 1])).grouping["sex"].values.tolist() == [-1, 1]


def test_a_column_that_is_a_task_and_makes_groups_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "x,region,y\n1,n,0\n2,s,1\n3,n,0\n4,n,1\n"
    tasks = {"t": {"column": "y", "worst_case": {"groups": "region"}}, "u": {"column": "region", "positive": "n"}}
    table = _load(tmp_path, text, tasks=tasks)
    assert table.grouping["region"].categories == ("n", "s")
    assert "region" not in table.feature_names
    assert (
        "groups are made of 'region', which a task predicts: they are classes, and nobody knows the group of a new row"
    ) in caplog.messages


def test_copies_of_rows_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    _load(tmp_path, "x,c,y\n" + "1,a,0\n?,b,1\n2,a,0\n" * 3, tasks={"t": "y"})
    assert "6 of 9 rows are exact copies of an earlier row" in caplog.messages


def test_a_column_that_equals_the_target_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [f"{at % 7},{'yes' if at % 3 else 'no'},{int(bool(at % 3))}" for at in range(60)]
    _load(tmp_path, "\n".join(["x,left,churned", *rows]), tasks={"churn": "churned"})
    assert _warnings(caplog) == [
        "column 'left' gives task 'churn' away: each of its values has one target; if it is not known when the model "
        "is asked, leave it out with ignore: [left]"
    ]


def test_a_table_with_all_its_rows_twice_is_judged_as_if_it_had_them_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    random = np.random.default_rng(0)
    rows = [f"c{at},{random.normal():.3f},{random.choice(['a', 'b'])},{at % 3 // 2}\n" for at in range(60)]
    table = _load(tmp_path, "customer,x,plan,y\n" + "".join([*rows, *rows]), tasks={"t": "y"})
    assert (table.feature_names, table.identifiers) == (("x", "plan"), ("customer",))
    assert _warnings(caplog) == []  # none of the columns gives the target away


def test_what_is_said_about_columns_is_followed(tmp_path: Path) -> None:
    text = "branch,price,joined,note,y\n1,1.234,01/02/2024,k.A.,0\n2,5.678,03/04/2024,None,1\n1,9,?,some,1\n"
    table = _load(
        tmp_path,
        text,
        tasks={"t": "y"},
        categorical=["branch"],
        dates={"joined": "%d/%m/%Y"},
        missing=["k.A."],
        not_missing=["None"],
        decimal=",",
    )
    values = _values(table)
    assert values["branch"] == ["1", "2", "1"]
    assert values["price"] == [1234, 5678, 9]
    assert [str(moment)[:10] for moment in values["joined"]] == ["2024-02-01", "2024-04-03", "NaT"]
    assert values["note"] == [None, "None", "some"]


@needs_tables
def test_adult_is_read_from_its_two_files(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    tasks = {
        "income": "classification",
        "never_married": {"column": "marital-status", "positive": "Never-married"},
        "hours": "hours-per-week",
    }
    files = [str(ROOT / "adult" / name) for name in ("adult.data", "adult.test")]
    table = TableValidator().validate(TabularDataset(filepath=files, tasks=tasks).load())
    assert len(table) == 48_842
    assert [(target.kind, target.outputs[0], target.other) for target in table.targets] == [
        ("binary", ">50K", "<=50K"),
        ("binary", "Never-married", "not Never-married"),
        ("number", "hours-per-week", None),
    ]
    assert isinstance(table.features, tuple)
    assert [column.role for column in table.features].count("category") == 7
    assert "features: 5 numbers, 7 categories" in caplog.messages
    assert _warnings(caplog) == []


@needs_tables
def test_pupils_are_read(caplog: pytest.LogCaptureFixture) -> None:
    tasks = {"grade": "G3", "passed": "Score", "absences": "absences"}
    table = TabularDataset(filepath=str(ROOT / "student" / "student-mat.csv"), tasks=tasks).load()
    assert [(target.kind, target.outputs) for target in table.targets] == [
        ("number", ("G3",)),
        ("binary", ("Pass",)),
        ("number", ("absences",)),
    ]
    assert len(table.feature_names) == 31
    assert {"G1", "G2"} <= set(table.feature_names)
    assert _warnings(caplog) == []  # a target may follow from another one: targets are no features


def test_another_encoding_can_be_named(tmp_path: Path) -> None:
    text = "größe,label:a,label:b\n1,0,1\n2,1,0\n"
    assert _load(tmp_path, text.encode("latin-1"), encoding="latin-1").feature_names == ("größe",)
    assert _load(tmp_path, text.encode("utf-8-sig")).feature_names == ("größe",)
    assert _load(tmp_path, gzip.compress(text.encode())).feature_names == ("größe",)


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
        ("x,label:a,label:b\n1,0,1\n2,so,0\n", "patients.csv, line 3: label 'a' is 'so'; a label is 0 or 1, yes or no"),
        (
            "x,label:a,label:b\n1,0,1\n2,,0\n",
            "patients.csv, line 3: label 'a' is missing; labels may have gaps if they",
        ),
        ("x,label:a,label:b\n1,0,1\n2,3,0\n", "patients.csv, line 3: label 'a' is '3'; a label is 0 or 1"),
        ("x,label:a,label:b\n1,0,1\n2,0.5,0\n", "patients.csv, line 3: label 'a' is '0.5'; a label is 0 or 1"),
        ('x,label:a,label:b\n"1\n",0,1\n\n2,0\n', "patients.csv, line 5: the row has 2 values, but the header"),
        ("x,label:a,label:b\n,0,1\n,1,0\n", "patients.csv: no column is left to predict from; left out: x (no values)"),
        ("label:a,label:b\n0,1\n1,0\n", "patients.csv: no column is left to predict from"),
        (b"x,label:a,label:b\n1,0,1\n\x81,1,0\n", "patients.csv, line 3: byte 0x81 is not utf-8; name the file's enc"),
        ("x,label:a\n1,0\n".encode("utf-16-le"), "patients.csv, line 1: zero byte; the file is not text, or needs"),
        (b"\x1f\x8bnot really", "patients.csv: a damaged gzip file: "),
    ],
)
def test_a_bad_file_is_named_with_the_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["flu"], "tasks": {"a": ["flu"]}}, "both 'labels' and 'tasks' say what to predict; keep one of"),
        ({"tasks": {"a": ["flu"], "b": ["flu"]}}, "column 'flu' is in two tasks, 'a' and 'b'"),
        ({"tasks": {"a": "flu"}, "ignore": ["flu"]}, "patients.csv: column 'flu' is under 'tasks' and under 'ignore'"),
        (
            {"tasks": {"a": "flu"}, "categorical": ["age"], "numeric": ["age"]},
            "is under 'categorical' and under 'numer",
        ),
        ({"labels": ["flu", "strok"]}, "patients.csv has no column 'strok'; did you mean 'stroke'?"),
        ({"labels": ["xyz"]}, "has no column 'xyz'; its columns are age, ward, flu, stroke, visit, name"),
        ({"labels": ["flu"], "group": "patient"}, "has no column 'patient'"),
        ({"labels": ["flu"], "groups": ["wards"]}, "has no column 'wards'; did you mean 'ward'?"),
        (
            {"tasks": {"a": "flu"}, "ignore": [["name"]]},
            "'ignore' has ['name'] in it; it is a list of texts: ignore: [",
        ),
        ({"labels": ["Flu"]}, "has no column 'Flu'; did you mean 'flu'?"),
        ({"decimal": "comma"}, "decimal = 'comma' is not valid; it is ',' or '.'"),
        ({"filepath": []}, "'filepath' is an empty list"),
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


def test_one_name_needs_no_list(tmp_path: Path) -> None:
    options: dict[str, Any] = {"tasks": {"a": "flu"}, "missing": "A", "categorical": "age"}
    one = _load(tmp_path, CSV, ignore="name", **options)
    several = _load(tmp_path, CSV, ignore=["name"], **options)
    assert one.feature_names == several.feature_names
    assert "name" not in one.feature_names


def test_a_file_without_a_header_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"has no column 'y'; its first line has only numbers \(1, 2, 3.5\): the first "
    ):
        _load(tmp_path, "1,2,3.5\n4,5,6.5\n", tasks={"t": "y"})


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a.xlsx: a .xlsx file cannot be read; save the table as .csv or .parquet"):
        TabularDataset(filepath=str(tmp_path / "a.xlsx"))
    with pytest.raises(InputError, match=r"a.arff: ARFF files are read by type: idbpd.datasets.ArffDataset"):
        TabularDataset(filepath=str(tmp_path / "a.arff"))
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
