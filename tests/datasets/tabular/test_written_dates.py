"""Texts that are dates; never a guess about day and month."""

import pandas as pd
import pytest

from idbpd.datasets.tabular.written_dates import date_text, read_dates, two_readings


@pytest.mark.parametrize(
    ("words", "dates", "form"),
    [
        (["2024-01-31", "1969-12-31"], ["2024-01-31", "1969-12-31"], None),
        (["2024/01/31"], ["2024-01-31"], None),
        (["2024-01-31T12:30:00Z", "2024-01-31 12:30:00+02:00"], ["2024-01-31 12:30", "2024-01-31 10:30"], None),
        (["31.01.2024", "01.02.2024"], ["2024-01-31", "2024-02-01"], "%d.%m.%Y"),
        (["31/01/2024", "01/02/2024"], ["2024-01-31", "2024-02-01"], "%d/%m/%Y"),
        (["01/31/2024", "01/02/2024"], ["2024-01-31", "2024-01-02"], "%m/%d/%Y"),
        (["3 Jan 2024", "14 Feb 2024"], ["2024-01-03", "2024-02-14"], "%d %b %Y"),
        (["Jan 3, 2024"], ["2024-01-03"], "%b %d, %Y"),
        (["31.01.2024 18:05"], ["2024-01-31 18:05"], "%d.%m.%Y %H:%M"),
        (["05/05/2024"], ["2024-05-05"], "%d/%m/%Y"),
    ],
)
def test_dates_with_one_reading(words: list[str], dates: list[str], form: str | None) -> None:
    found = read_dates(words)
    assert found is not None
    assert [pd.Timestamp(second, unit="s") for second in found.seconds] == [pd.Timestamp(date) for date in dates]
    assert found.form == form


@pytest.mark.parametrize(
    "words", [[], ["red"], ["room 12"], ["2024-01-31", "soon"], ["2024-13-01"], ["2024"], ["01/02/2024"], ["12:30:00"]]
)
def test_no_date_or_no_certain_one(words: list[str]) -> None:
    assert read_dates(words) is None


def test_a_form_can_be_stated() -> None:
    assert two_readings(["01/02/2024", "03/04/2024"])
    found = read_dates(["01/02/2024"], "%m/%d/%Y")
    assert found is not None
    assert date_text(found.seconds[0]) == "2024-01-02"
    assert read_dates(["20240131"], "%Y%m%d") is not None
    assert read_dates(["soon"], "%Y%m%d") is None


def test_a_time_is_shown_only_if_there_is_one() -> None:
    assert date_text(0) == "1970-01-01"
    assert date_text(3600 * 5.5) == "1970-01-01 05:30:00"
