"""Files as columns and as data frames."""

import io

import pandas as pd
import pyarrow as pa
import pytest

from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.reading import joined, read_columns, read_frame
from idbpd.errors import DataError


def test_a_text_file_to_score_keeps_its_texts() -> None:
    frame, origin = read_frame(b"id; zip ;x;c\n12345678901234567890;007; 1,5;?\n2;;;red\n", "a.txt")
    assert list(frame.columns) == ["id", "zip", "x", "c"]
    assert origin.of(1) == "a.txt, line 3"
    assert frame.iloc[0].tolist() == ["12345678901234567890", "007", "1,5", "?"]
    assert frame.iloc[1].tolist() == ["2", "", "", "red"]


def test_a_parquet_file_to_score_keeps_its_types_and_needs_no_ending() -> None:
    buffer = io.BytesIO()
    given = pd.DataFrame({"id": [2**60 + 1, 3], "when": [pd.Timestamp("2024-01-01"), pd.NaT], "yes": [True, False]})
    given.to_parquet(buffer)
    frame, _ = read_frame(buffer.getvalue(), "a")
    pd.testing.assert_frame_equal(frame, given)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.csv: the file is empty"),
        (b"x,y\n", "a.csv: the table has columns but no rows"),
        (b"x,x\n1,2\n", "a.csv: columns 1 and 2 are both named 'x'"),
    ],
)
def test_a_file_that_cannot_be_scored_is_named(content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_frame(content, "a.csv")


def test_files_with_and_without_lines_are_joined() -> None:
    text, typed = read_columns(b"x,y\n1,a\n", "a.csv"), (pa.table({"x": ["2"], "y": ["b"]}), Origin("b.parquet"))
    columns, origin = joined([text, typed])
    assert columns.to_pydict() == {"x": ["1", "2"], "y": ["a", "b"]}
    assert origin.of(1) == "a.csv + b.parquet, row 2"
    assert joined([text])[1].of(0) == "a.csv, line 2"


def test_files_whose_types_differ_are_refused() -> None:
    with pytest.raises(DataError, match=r"a.csv and b.parquet: columns of different types: "):
        joined([read_columns(b"x\n1\n", "a.csv"), (pa.table({"x": [2]}), Origin("b.parquet"))])
