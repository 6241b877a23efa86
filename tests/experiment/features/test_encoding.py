"""Rows as people send them: every value is read, or replaced and told."""

from collections.abc import Sequence
from datetime import date as calendar_date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from idbpd.experiment.features import encode, encoded, feature_names, fit_encoding
from tests.experiment.features.tables import category, date, mixed_table, number, table_of

ROWS = 40
AGE = fit_encoding(table_of(number("age", np.arange(ROWS))), np.arange(ROWS))


def _of_category(values: Sequence[str | None]) -> dict[str, Any]:
    return fit_encoding(table_of(category("c", list(values))), np.arange(len(values)))


def _cells(name: str, cells: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=object)})


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (12, 12),
        ("12", 12),
        (" 12.5 ", 12.5),
        ("1e3", 1000),
        ("12 500", 12500),
        (True, 1),
        (np.float32(2.5), 2.5),
        (np.int64(3), 3),
        (Decimal("2.25"), 2.25),
    ],
)
def test_a_number_is_read_from_whatever_it_is_written_as(cell: Any, value: float) -> None:
    matrix, replaced = encode(_cells("age", [cell]), AGE)
    assert matrix.tolist() == [[value]]
    assert replaced == [""]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (None, "age missing, 19.5 used"),
        (np.nan, "age missing, 19.5 used"),
        (pd.NA, "age missing, 19.5 used"),
        ("?", "age missing, 19.5 used"),
        (" n/a", "age missing, 19.5 used"),
        ("old", "age 'old' not usable, 19.5 used"),
        ("1,5", "age '1,5' not usable, 19.5 used"),
        (np.inf, "age inf not usable, 19.5 used"),
        ("-inf", "age '-inf' not usable, 19.5 used"),
        (1e300, "age 1e+300 not usable, 19.5 used"),
        (10**400, f"age {str(10**400)[:40]}... not usable, 19.5 used"),
        ([1, 2], "age [1, 2] not usable, 19.5 used"),
        ({"a": 1}, "age {'a': 1} not usable, 19.5 used"),
        (1j, "age 1j not usable, 19.5 used"),
        (pd.Timestamp("2020-01-01"), "age 2020-01-01 00:00:00 not usable, 19.5 used"),
    ],
)
def test_what_is_no_number_is_replaced_and_told(cell: Any, told: str) -> None:
    matrix, replaced = encode(_cells("age", [cell, 3]), AGE)
    assert matrix.tolist() == [[19.5], [3]]
    assert replaced == [told, ""]


def test_numbers_written_in_the_way_of_a_country_are_read_so() -> None:
    column = number("age", np.arange(ROWS))
    column = type(column)(
        column.name, "number", column.values, written={"decimal": ",", "missing": ["-999", "none of it"]}
    )
    encoding = fit_encoding(table_of(column), np.arange(ROWS))
    matrix, replaced = encode(
        _cells("age", ["1.234,5", "12,5 €", "1.234", 12.5, "7%", -999, "-999", "None of it"]), encoding
    )
    assert matrix[:, 0].tolist() == [1234.5, 12.5, 1234, 12.5, 7, 19.5, 19.5, 19.5]
    assert replaced[:5] == [""] * 5
    assert replaced[6] == "age missing, 19.5 used"


def test_numbers_with_a_unit_in_letters_are_read_with_it_and_without() -> None:
    column = number("age", np.arange(ROWS))
    column = type(column)(column.name, "number", column.values, written={"unit": "km/h", "decimal": ","})
    encoding = fit_encoding(table_of(column), np.arange(ROWS))
    matrix, replaced = encode(_cells("age", ["12,5 km/h", "12,5KM/H", 12.5, "12", "12 mph"]), encoding)
    assert matrix[:, 0].tolist() == [12.5, 12.5, 12.5, 12, 19.5]
    assert replaced == ["", "", "", "", "age '12 mph' not usable, 19.5 used"]


@pytest.mark.parametrize(
    ("known", "cells"),
    [
        (["3", "12"], [3, 3.0, "3", "3.0", " 3", np.int64(3)]),
        (["3.5", "12"], [3.5, "3.50", np.float64(3.5)]),
        (["true", "false"], [True, np.True_, "True", "TRUE", 1, 1.0, "yes"]),
        (["True", "False"], [True, np.True_, "true", 1, "1"]),
        (["1", "0"], [1, 1.0, True, "1", "true"]),
        (["yes", "no"], ["Yes", True, 1, "y"]),
        (["State gov", "Private"], ["State gov", " state GOV "]),
        (["007", "8"], ["007", 7]),
        (["none", "some"], ["none", "None"]),
    ],
)
def test_a_category_is_found_however_it_is_written(known: list[str], cells: list[Any]) -> None:
    encoding = _of_category([*known] * 10)
    matrix, replaced = encode(_cells("c", cells), encoding)
    place = feature_names(encoding).index(f"c={known[0]}")
    assert matrix[:, place].tolist() == [1] * len(cells)
    assert matrix.sum() == len(cells)
    assert replaced == [""] * len(cells)


def test_a_column_of_whole_numbers_with_gaps_has_the_categories_of_one_without() -> None:
    encoding = _of_category(["1", "2", "3"] * 10)
    frame = pd.DataFrame({"c": [1, None, 3]})
    assert frame["c"].dtype == np.float64
    matrix, replaced = encode(frame, encoding)
    assert matrix.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert replaced == ["", "c missing", ""]


def test_similar_values_are_only_one_where_training_had_one() -> None:
    matrix, replaced = encode(_cells("c", ["a", "A", " a"]), _of_category(["a", "A"] * 10))
    assert matrix.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert replaced == ["", "", "c ' a' unknown"]
    # 1 is no yes where there are other values too.
    assert encode(_cells("c", [1]), _of_category(["yes", "no", "perhaps"] * 10)).replaced == ["c '1' unknown"]


def test_unseen_values_share_the_place_of_rare_ones() -> None:
    encoding = _of_category([*["a", "b"] * 60, "seldom", None])
    assert feature_names(encoding) == ("c=a", "c=b", "c=rare")
    matrix, replaced = encode(_cells("c", ["seldom", None, "?", "new", ["x"]]), encoding)
    assert matrix.tolist() == [[0, 0, 1]] * 5
    # Seen in training, if seldom.
    assert replaced == ["", "", "", "c 'new' unknown", "c \"['x']\" unknown"]


def test_without_rare_values_unseen_ones_have_no_feature_and_gaps_have_theirs_if_there_were_any() -> None:
    matrix, replaced = encode(_cells("c", ["new", None]), _of_category(["a", "b"] * 10))
    assert matrix.tolist() == [[0, 0], [0, 0]]
    assert replaced == ["c 'new' unknown", "c missing"]
    encoding = _of_category(["a", "b", None] * 10)
    assert feature_names(encoding) == ("c=a", "c=b", "c is missing")
    matrix, replaced = encode(_cells("c", ["new", None, "a"]), encoding)
    assert matrix.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert replaced == ["c 'new' unknown", "", ""]


def test_dates_are_days_and_places_in_their_cycles() -> None:
    table = table_of(date("d", ["1970-01-01", "1970-01-08", "1971-01-01", None]))
    matrix = encoded(table, np.arange(4), fit_encoding(table, np.arange(4)))
    days, year_sine, year_cosine, week_sine, week_cosine, missing = matrix.T
    assert days.tolist() == [0, 7, 365, 7]
    np.testing.assert_allclose(year_cosine[[0, 2]], [1, 1], atol=1e-4)
    np.testing.assert_allclose(year_sine[[0, 2]], [0, 0], atol=1e-2)
    np.testing.assert_allclose(week_sine[:2], [0, 0], atol=1e-12)
    np.testing.assert_allclose(week_cosine[:2], [1, 1])
    assert missing.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "cell",
    [
        "2020-03-04",
        "2020-03-04T00:00:00",
        "2020-03-04 00:00:00+00:00",
        "2020-03-04T02:00:00+02:00",
        "2020-03-04T00:00:00Z",
        calendar_date(2020, 3, 4),
        pd.Timestamp("2020-03-04"),
        np.datetime64("2020-03-04"),
    ],
)
def test_a_date_is_read_from_whatever_it_is_written_as(cell: Any) -> None:
    encoding = fit_encoding(table_of(date("d", ["2019-01-01", "2021-01-01"])), np.arange(2))
    matrix, replaced = encode(_cells("d", [cell]), encoding)
    assert matrix[0, 0] == 18325
    assert replaced == [""]


def test_what_is_no_date_is_replaced_and_told() -> None:
    table = table_of(date("d", ["2019-01-01", "2020-01-01", "2021-01-01"]), date("t", ["2019-01-01T10:30:00"] * 3))
    encoding = fit_encoding(table, np.arange(3))
    cells: list[Any] = [None, "?", "soon", "04.03.2020", "2020-02-31", "9999-12-31", pd.NaT, ["x"]]
    replaced = encode(_cells("d", cells).assign(t=None), encoding).replaced
    used = "2020-01-01 used; t missing, 2019-01-01 10:30:00 used"
    assert replaced == [
        f"d missing, {used}",
        f"d missing, {used}",
        f"d 'soon' not usable, {used}",
        f"d '04.03.2020' not usable, {used}",
        f"d '2020-02-31' not usable, {used}",
        "t missing, 2019-01-01 10:30:00 used",
        f"d missing, {used}",
        f"d ['x'] not usable, {used}",
    ]


def test_dates_of_a_stated_form_are_read_so_and_others_still_are() -> None:
    column = date("d", ["2019-01-01", "2021-01-01"])
    column = type(column)("d", "date", column.values, written={"form": "%d.%m.%Y"})
    encoding = fit_encoding(table_of(column), np.arange(2))
    matrix, replaced = encode(_cells("d", ["04.03.2020", "2020-03-04"]), encoding)
    assert matrix[:, 0].tolist() == [18325, 18325]
    assert replaced == ["", ""]


def test_columns_come_in_any_order_with_others_between_and_some_away() -> None:
    table = mixed_table()
    encoding, rows = fit_encoding(table, np.arange(100)), np.arange(100, 120)
    frame = table.frame(rows)
    expected = encode(frame, encoding)
    shuffled = frame[frame.columns[::-1]].assign(more="x")
    shuffled = pd.concat([shuffled, frame[["age"]] * 2], axis=1)  # the name twice: the first counts
    again = encode(shuffled.set_axis(range(7, 27)), encoding)
    np.testing.assert_array_equal(again.matrix, expected.matrix)
    assert again.replaced == expected.replaced
    without = encode(frame.drop(columns=["age", "work"]), encoding)
    assert all(text.startswith("age missing, ") and "; work missing" in text for text in without.replaced)
    median = encoding["numbers"][0]["median"]
    assert (without.matrix[:, 0] == median).all()


def test_a_row_with_hardly_any_column_has_a_short_text() -> None:
    table = table_of(*(number(f"x{at}", [0.0, 1.0]) for at in range(9)))
    (told,) = encode(pd.DataFrame({"x0": [None]}), fit_encoding(table, np.arange(2))).replaced
    assert told == "; ".join([*(f"x{at} missing, 0.5 used" for at in range(1, 6)), "and 4 more"])


def test_a_file_of_texts_is_the_same_as_one_of_typed_values() -> None:
    table = mixed_table()
    encoding, rows = fit_encoding(table, np.arange(100)), np.arange(200)
    frame = table.frame(rows)
    texts = frame.map(lambda cell: None if pd.isna(cell) else str(cell)).astype(object)
    np.testing.assert_array_equal(encode(texts, encoding).matrix, encode(frame, encoding).matrix)
