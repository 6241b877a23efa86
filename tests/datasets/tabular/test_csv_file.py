"""A text file of values: its delimiter, its header, its quotes and its lines."""

import logging

import pyarrow as pa
import pytest

from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.csv_file import find_delimiter, read_csv
from idbpd.errors import InputError


def _read(text: str, delimiter: str | None = None) -> tuple[pa.Table, Origin]:
    return read_csv(text.encode(), "a.csv", delimiter=delimiter)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    text = "name,x,y\nAnn,1,2\nBob,3,4\n".replace(",", delimiter)
    assert find_delimiter(text) == delimiter
    assert _read(text)[0].to_pydict() == {"name": ["Ann", "Bob"], "x": ["1", "3"], "y": ["2", "4"]}


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("x;y\n1,5;2\n3,5;4\n", ";"),
        ("x;price, EUR;y\n1,5;2;0\n3,5;4;1\n", ";"),
        ('name,x\n"Smith; Ann; B",1\n', ","),
        ("x\n1\n2\n", ","),
        ("a,b;c\n1,2\n3,4\n", ","),
    ],
)
def test_other_signs_in_the_values_do_not_mislead(text: str, delimiter: str) -> None:
    assert find_delimiter(text) == delimiter


def test_a_wrong_delimiter_is_told() -> None:
    with pytest.raises(InputError) as error:
        _read("x;y\n1;2\n", ",")
    assert str(error.value) == (
        "a.csv: with delimiter: ',' the header is one column, 'x;y'; its columns seem to be divided by a semicolon: "
        "leave out 'delimiter', or set it to ';'"
    )
    with pytest.raises(InputError, match="delimiter 'tab' is not one character"):
        _read("x;y\n1;2\n", "tab")


def test_blanks_after_the_delimiter_are_no_part_of_names_and_quotes() -> None:
    columns, origin = _read('x, name, y\n1, "Smith, Ann", 2\n\n3, "two\nlines", 4\n')
    assert columns.column_names == ["x", "name", "y"]
    assert columns["name"].to_pylist() == ["Smith, Ann", "two\nlines"]
    assert [origin.of(row) for row in range(2)] == ["a.csv, line 2", "a.csv, line 4"]


def test_values_stay_as_they_are_written() -> None:
    assert _read("a,b,c,d\n007,true,2024-01-01,1e5\n")[0].to_pylist() == [
        {"a": "007", "b": "true", "c": "2024-01-01", "d": "1e5"}
    ]


@pytest.mark.parametrize("text", [",x,y\n0,1,2\n1,3,4\n", "x,y,\n1,2,\n3,4,\n"])
def test_row_numbers_of_pandas_and_a_last_delimiter_are_no_columns(text: str) -> None:
    assert _read(text)[0].to_pydict() == {"x": ["1", "3"], "y": ["2", "4"]}


def test_another_column_without_a_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"a.csv: column 2 has no name"):
        _read("x,,y\n1,2,3\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encodings_of_spreadsheets_are_found(encoding: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    table, _ = read_csv("größe,x\nhöher €,1\n".encode(encoding), "a.csv")
    assert table.to_pylist() == [{"größe": "höher €", "x": "1"}]
    expected = (
        "a.csv is not UTF-8 (line 1); it is read as cp1252, the encoding of Windows, which gives 'größe,x'; if that "
        "is wrong, save it as UTF-8, or state its encoding in the block of the data set"
    )
    assert caplog.messages == ([expected] if encoding == "cp1252" else [])


def test_a_stated_encoding_is_used() -> None:
    table, _ = read_csv("ż,x\nł,1\n".encode("cp1250"), "a.csv", encoding="cp1250")
    assert table.to_pylist() == [{"ż": "ł", "x": "1"}]
