"""What the values of a column are, from text files and from files with types."""

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from idbpd.datasets.tabular.values import MISSING, Reading, Values, values_of


def _values(column: list[Any], kind: pa.DataType | None = None, **reading: Any) -> Values:
    return values_of(pa.chunked_array([pa.array(column, kind)]), "x", Reading(**reading))


@pytest.mark.parametrize(
    ("column", "kind", "content", "words"),
    [
        ([" 10", "9 ", "?", "9"], None, "number", ("9", "10")),
        (["1.50", "1.5", ""], None, "number", ("1.5",)),
        (["yes", "no", None], None, "text", ("no", "yes")),
        (["007", "123"], None, "text", ("007", "123")),
        (["2024-02-01", "2023-01-01", "NaT"], None, "date", ("2023-01-01", "2024-02-01")),
        (["?", "", "NA", None], None, "nothing", ()),
        ([None, None], pa.null(), "nothing", ()),
        ([True, None, False], pa.bool_(), "boolean", ("False", "True")),
        ([True, None, True], pa.bool_(), "boolean", ("True",)),
        ([3, None, 2], pa.int64(), "number", ("2", "3")),
        ([3.0, float("nan"), 2.5], pa.float32(), "number", ("2.5", "3")),
        ([float("nan")], pa.float64(), "nothing", ()),
        ([datetime.date(2024, 1, 1), None], pa.date32(), "date", ("2024-01-01",)),
        ([datetime.timedelta(hours=1)], pa.duration("s"), "number", ("3600",)),
        (["b", "a", "b"], pa.dictionary(pa.int8(), pa.string()), "text", ("a", "b")),
        ([[1], [2]], pa.list_(pa.int64()), "unreadable", ("list<item: int64>",)),
    ],
)
def test_contents_are_found(column: list[Any], kind: pa.DataType | None, content: str, words: tuple[str, ...]) -> None:
    values = _values(column, kind)
    assert (values.content, values.distinct[1]) == (content, words)


def test_codes_number_the_different_values_and_gaps_have_none() -> None:
    values = _values(["b", "?", "a", "b"])
    assert values.distinct[0].tolist() == [1, -1, 0, 1]
    assert values.known.tolist() == [True, False, True, True]
    assert values.counts().tolist() == [1, 2]
    assert values.first_row_of(0) == 2
    assert values.gaps == ("?",)


def test_words_for_a_missing_value_can_be_added_and_taken_away() -> None:
    assert _values(["low", *MISSING]).distinct[1] == ("low",)
    assert _values(["low", "None", "?"], not_missing=["None"]).distinct[1] == ("None", "low")
    np.testing.assert_array_equal(_values(["1", "-999", "-999.0"], missing=["-999"]).numbers, [1, np.nan, np.nan])
    np.testing.assert_array_equal(_values([1, -999], missing=["-999"]).numbers, [1, np.nan])


def test_a_column_says_how_its_texts_were_read() -> None:
    assert _values(["1,5", "2"]).written == {"decimal": ","}
    assert _values(["31.12.2024"]).written == {"form": "%d.%m.%Y"}
    assert _values(["1", "x"], missing=["k.A."]).written == {"missing": ["k.A."]}
    assert _values(["1.5", "2024"]).written == {}
    stated = _values(["01/02/2024"], date_forms={"x": "%m/%d/%Y"})
    assert (stated.distinct[1], stated.written) == (("2024-01-02",), {"form": "%m/%d/%Y"})


def test_whole_numbers_are_told_from_others() -> None:
    assert _values(["1", "2", "?"]).integers
    assert not _values(["1", "2.5"]).integers
    assert not _values(["1", "inf"]).integers
    assert not _values(["a"]).integers


@pytest.mark.parametrize(
    ("column", "remark"),
    [
        (
            ["1,234", "5,678"],
            "its comma may be a decimal comma or separate thousands: say decimal: ',' or decimal: '.'",
        ),
        (["01/02/2024"], "its days and months cannot be told apart: say dates: {x: '%d/%m/%Y'} or '%m/%d/%Y'"),
        (
            [*map(str, range(50)), "n.k.", "none given"],
            "all but 2 of its values are numbers; if the others ('n.k.', 'none given') mean that a value is missing, "
            "list them under 'missing'",
        ),
        ([*(f"2024-01-{day:02}" for day in range(1, 31)), "0000-00-00", "soon"], "all but 1 of its values are dates"),
        (["01234", "56789"], None),
        (["red", "12", "blue"], None),
    ],
)
def test_a_doubtful_column_is_remarked_upon(column: list[str], remark: str | None) -> None:
    values = _values(column)
    assert values.content == "text"
    assert values.remark is None if remark is None else (values.remark or "").startswith(remark)
