"""What columns become by their values, and by what people say about them."""

import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.feature_roles import Judged, StatedRoles, judge
from idbpd.datasets.tabular.values import Reading, values_of
from idbpd.errors import DataError

ROWS = 40
RANDOM = np.random.default_rng(0)
IDENTIFIER = "an identifier"


def _judged(columns: dict[str, list[Any]], **stated: Any) -> Judged:
    values = [values_of(pa.chunked_array([column]), name, Reading()) for name, column in columns.items()]
    rows = len(values[0].known)
    return judge(values, StatedRoles(**stated), Origin("a.csv", np.arange(2, rows + 2)), np.arange(rows))


def _role(name: str, column: list[Any], **stated: Any) -> str:
    judged = _judged({name: column}, **stated)
    return judged.features[0].role if judged.features else judged.left_out[name]


SHUFFLED = [str(value) for value in RANDOM.permutation(ROWS) + 100]
SPREAD = [str(value) for value in RANDOM.choice(10_000, ROWS, replace=False)]
CODES = [f"C-{value}" for value in SPREAD]


@pytest.mark.parametrize(
    ("name", "column", "role"),
    [
        ("age", [str(at % 30) for at in range(ROWS)], "number"),
        ("income", SPREAD, "number"),
        ("number_of_steps", SPREAD, "number"),
        ("price", [f"{at}.5" for at in range(ROWS)], "number"),
        ("stars", ["1", "2"] * 20, "number"),
        ("colour", ["red", "blue"] * 20, "category"),
        ("member", [True, False] * 20, "category"),
        ("zip", [f"0{at % 20}" for at in range(ROWS)], "category"),
        ("only", ["x", None] * 20, "category"),
        ("joined", [f"2024-01-{1 + at % 28:02}" for at in range(ROWS)], "date"),
        ("row", SHUFFLED, IDENTIFIER),
        ("customer_id", SPREAD, IDENTIFIER),
        ("CustomerID", SPREAD, IDENTIFIER),
        ("customerid", SPREAD, IDENTIFIER),
        ("orderNo", SPREAD, IDENTIFIER),
        ("paid", SPREAD, "number"),
        ("code", CODES, IDENTIFIER),
        ("code", [*CODES[:-1], CODES[0]], IDENTIFIER),
        ("code", [*CODES[:30], *CODES[:10]], "30 different values in 40 rows"),
        ("code", [*CODES[:20], *CODES[:20]], "category"),
        ("comment", [f"it was {word}" for word in CODES], "free text"),
        ("constant", ["7"] * ROWS, "one value in all rows"),
        ("constant", ["x"] * ROWS, "one value in all rows"),
        ("empty", ["?", ""] * 20, "no values"),
        ("lists", [[1], [2]] * 20, "values of type list<item: int64>"),
    ],
)
def test_a_column_is_judged_by_its_values(name: str, column: list[Any], role: str) -> None:
    assert _role(name, column) == role


def test_of_few_rows_no_column_is_an_identifier() -> None:
    assert _role("id", [str(at) for at in range(10)]) == "number"
    assert _role("id", [f"c{at}" for at in range(10)]) == "category"


def test_people_may_say_what_a_column_is() -> None:
    assert _role("stars", ["1", "2"] * 20, categorical=["stars"]) == "category"
    assert _role("row", SHUFFLED, numeric=["row"]) == "number"
    assert _role("code", CODES, categorical=["code"]) == "category"
    assert _role("joined", ["2024-01-31"] * 40, dates=["joined"]) == "date"
    judged = _judged({"zip": ["007", "?"] * 20, "member": [True, None] * 20}, numeric=["zip", "member"])
    np.testing.assert_array_equal([column.values[:2] for column in judged.features], [[7, np.nan], [1, np.nan]])
    assert _role("empty", ["?", ""] * 20, numeric=["empty"]) == "no values"


def test_columns_keep_their_values_and_their_gaps() -> None:
    number, category, date = _judged(
        {"n": ["1,5", "?", "2"] * 10, "c": ["b", "a", None] * 10, "d": ["31.12.1970", "?", "01.01.1970"] * 10}
    ).features
    np.testing.assert_array_equal(number.values[:3], [1.5, np.nan, 2])
    assert number.written == {"decimal": ","}
    assert (category.values[:3].tolist(), category.categories) == ([1, 0, -1], ("a", "b"))
    assert category.values.dtype == np.int32
    np.testing.assert_array_equal(date.values[:3], [364 * 86400, np.nan, 0])
    assert date.written == {"form": "%d.%m.%Y"}


@pytest.mark.parametrize(
    ("column", "stated", "message"),
    [
        (
            ["1", "2", "low"] * 10,
            {"numeric": ["x"]},
            "a.csv, line 4: column 'x' is 'low', which is not a number; words for a missing value are listed under",
        ),
        (
            ["soon"] * 30,
            {"dates": ["x"]},
            "a.csv, line 2: column 'x' is 'soon', which is not a date; say its form: dates",
        ),
        (["01/02/2024"] * 30, {"dates": ["x"]}, "which is not a date; its days and months cannot be told apart"),
        (["2024-01-01"] * 30, {"numeric": ["x"]}, "a.csv, line 2: column 'x' is '2024-01-01', which is not a number"),
    ],
)
def test_a_column_that_is_not_what_people_say_is_named(
    column: list[str], stated: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(DataError) as error:
        _judged({"x": column}, **stated)
    assert message in str(error.value)


def test_what_became_of_the_columns_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    _judged(
        {
            "row": SHUFFLED,
            "age": ["1", "2", "?", "4"] * 10,
            "colour": ["red", "blue"] * 20,
            "comment": [f"it was {word}" for word in CODES],
            "mostly": [*map(str, range(38)), "n.k.", "n.k."],
        },
        categorical=["mostly"],
    )
    assert caplog.messages == [
        "column 'mostly' is read as a category: all but 2 of its values are numbers; if the others ('n.k.') mean that "
        "a value is missing, list them under 'missing'",
        "features: 1 number, 2 categories; left out: row (an identifier), comment (free text); name a column under "
        "'categorical' or 'numeric' to use it",
        "features with missing values (and in how many rows): age (10), written as '?'; if one is a value, see "
        "'not_missing'",
    ]


def test_columns_left_out_for_the_same_reason_are_told_together(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    constants = {f"flag {at}": ["0"] * ROWS for at in range(12)}
    _judged({"age": ["1", "2", "3", "4"] * (ROWS // 4), **constants, "empty": ["?"] * ROWS})
    assert caplog.messages == [
        "features: 1 number; left out: flag 0, flag 1, flag 2, flag 3, flag 4, flag 5, flag 6, flag 7, flag 8, flag 9 "
        "and 2 more (one value in all rows), empty (no values)"  # no role would make them useful
    ]


def test_many_categories_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    _judged({"city": [f"city {at % 10_000}" for at in range(20_000)]})
    assert "column 'city' has 10000 categories; the rare ones will share one place" in caplog.messages


def test_an_identifier_that_repeats_is_told(caplog: pytest.LogCaptureFixture) -> None:
    _judged({"customer_id": [str(1000 + at % 25) for at in range(50)], "paid": [str(at % 25) for at in range(50)]})
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "column 'customer_id' is used as a number, but its name says that it identifies something; if rows with the "
        "same value belong together, write group: customer_id"
    ]


def test_a_column_of_numbers_with_a_word_for_missing_is_not_lost_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    judged = _judged({"x": [str(at) for at in range(30)] + ["unknown"] * 10, "y": ["1", "2"] * 20})
    assert list(judged.left_out) == ["x"]
    assert caplog.messages == [
        "column 'x' is left out: all but 10 of its values are numbers; if the others ('unknown') mean that a value is "
        "missing, list them under 'missing'"
    ]
