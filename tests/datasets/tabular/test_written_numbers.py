"""Texts that are numbers, in the ways of several countries."""

import numpy as np
import pytest

from idbpd.datasets.tabular.written_numbers import Decimal, number_text, read_numbers, two_readings, which_are_numbers


@pytest.mark.parametrize(
    ("words", "numbers", "decimal"),
    [
        (["1", "-2.5e3", "+.5"], [1, -2500, 0.5], None),
        (["1,5", "20"], [1.5, 20], ","),
        (["1.234,50", "7"], [1234.5, 7], ","),
        (["1,234.50", "7"], [1234.5, 7], "."),
        (["1,234,567", "12"], [1234567, 12], "."),
        (["0,123", "4,567"], [0.123, 4.567], ","),
        (["1 234", "12 345 678"], [1234, 12345678], None),
        (["1'234.5"], [1234.5], None),
        (["1e999"], [np.inf], None),
        (["$1,234.50", "$7"], [1234.5, 7], "."),
        (["898 317 €", "50 €", "-3€"], [898317, 50, -3], None),
        (["12,5 %", "7"], [12.5, 7], ","),
    ],
)
def test_numbers_with_one_reading(words: list[str], numbers: list[float], decimal: str | None) -> None:
    found = read_numbers(words)
    assert found is not None
    np.testing.assert_array_equal(found.values, numbers)
    assert found.decimal == decimal


@pytest.mark.parametrize(
    "words", [[], ["1", "two"], ["1,234", "999"], ["007", "12"], ["1_0"], ["1,2,3"], ["0x1A"], ["5 €", "$5"], ["€"]]
)
def test_no_number_or_no_certain_one(words: list[str]) -> None:
    assert read_numbers(words) is None


@pytest.mark.parametrize(("decimal", "expected"), [(",", 1.234), (".", 1234.0)])
def test_the_decimal_sign_can_be_stated(decimal: Decimal, expected: float) -> None:
    assert two_readings(["1,234", "999"])
    found = read_numbers(["1,234", "999"], decimal)
    assert found is not None
    np.testing.assert_array_equal(found.values, [expected, 999])


def test_a_point_is_no_decimal_sign_where_the_comma_is() -> None:
    found = read_numbers(["1.234", "5,5"], ",")
    assert found is not None
    np.testing.assert_array_equal(found.values, [1234, 5.5])


def test_numbers_among_other_words_are_found() -> None:
    words = ["1", "-2.5", "007", "n.k.", "1,5", "1.234,50", "12 %", "1,2,3"]
    assert which_are_numbers(words).tolist() == [True, True, True, False, True, True, True, False]


def test_a_whole_number_has_no_point_in_its_name() -> None:
    assert [number_text(value) for value in (3.0, -4.0, 0.1, 1e20, float("inf"))] == ["3", "-4", "0.1", "1e+20", "inf"]


@pytest.mark.parametrize(
    ("form", "unit", "decimal"),
    [("{}.5 kg", "kg", None), ("{},5KM/h", "km/h", ","), ("1.{},25 Eur", "eur", ","), ("-{} °C", "°c", None)],
)
def test_one_unit_in_letters_may_stand_after_the_numbers(form: str, unit: str, decimal: str | None) -> None:
    found = read_numbers([form.format(number) for number in range(100, 115)])
    assert found is not None
    assert (found.unit, found.decimal) == (unit, decimal)
    steps = np.diff(np.abs(found.values))
    np.testing.assert_allclose(steps, steps[0])


def test_a_few_texts_or_several_units_are_no_numbers() -> None:
    # '12 months' is the name of a plan; an hour is not a minute; and 12A is not the place after 11A.
    assert read_numbers(["12 months", "24 months"]) is None
    assert read_numbers([f"{number} {'min' if number % 2 else 'h'}" for number in range(30)]) is None
    assert read_numbers([f"{number}{letter}" for number in range(10, 20) for letter in "AB"]) is None


def test_a_sign_may_stand_before_a_currency() -> None:
    found = read_numbers(["-$5", "$7.50"])
    assert found is not None
    np.testing.assert_array_equal(found.values, [-5, 7.5])


@pytest.mark.parametrize(("words", "decimal"), [(["$45,000", "$950"], "."), (["45.000 €", "950 €"], ",")])
def test_money_has_no_three_decimals(words: list[str], decimal: str) -> None:
    found = read_numbers(words)
    assert found is not None
    assert found.values.tolist() == [45000, 950]
    assert found.decimal == decimal
