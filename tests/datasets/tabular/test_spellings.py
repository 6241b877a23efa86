"""Words that differ in capitals alone."""

import numpy as np
import pyarrow as pa

from idbpd.datasets.tabular.spellings import MOST_VALUES, one_spelling, told
from idbpd.datasets.tabular.values import Reading, values_of


def _spellings(*words: str) -> dict[str, str]:
    different = sorted(set(words))
    return one_spelling(different, np.array([words.count(word) for word in different]))


def test_the_most_frequent_spelling_is_used() -> None:
    found = _spellings("bonn", "Bonn", "Bonn", "BONN", "Köln")
    assert found == {"bonn": "Bonn", "BONN": "Bonn"}
    assert told(found) == "'BONN' and 'bonn' as 'Bonn'"


def test_symbols_and_codes_keep_their_capitals() -> None:
    assert _spellings("AA", "Aa", "aa") == {}
    codes = [f"{first}{number}" for first in ("ab", "AB") for number in range(MOST_VALUES + 1)]
    assert _spellings(*codes) == {}


def test_yes_and_no_are_known_however_short() -> None:
    assert _spellings("Y", "y", "y", "N", "n", "N") == {"Y": "y", "n": "N"}


def test_a_column_has_each_value_once() -> None:
    column = pa.chunked_array([["Yes", "no", None, "yes", "Yes", "NO", "no"]])
    codes, words = values_of(column, "answer", Reading()).distinct
    assert words == ("Yes", "no")
    assert codes.tolist() == [0, 1, -1, 0, 0, 1, 1]
