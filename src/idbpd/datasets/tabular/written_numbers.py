"""Read texts as numbers, also with a decimal comma or with separators of thousands."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Decimal = Literal[".", ","]

# 007 or 0123 is a code, as in postal codes and account numbers: as a number it would lose its zeros.
_CODE = r"^[+-]?0[0-9]"
_DIGITS = re.compile(r"[+-]?\d+")
# Signs of currencies and percent before or after a number; '12 %' is 12.
UNITS = frozenset("€$£¥%")
CURRENCIES = UNITS - {"%"}
# An amount of money has no three decimals: $45,000 and 45.000 € are thousands.
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,]\d{3})*")
_UNIT = re.compile(r"^([+-]?)[€$£¥%]\s*|\s*[€$£¥%]$")
# A unit in letters after a number, such as kg, km/h, m² or °C.
_WITH_WORD = re.compile(r"([+-]?[\d.,][\d.,'\s]*?)\s*([^\W\d_]{1,6}|°[CFK]?|[^\W\d_]{1,4}(?:/[^\W\d_]{1,4}|[²³]))")
# Of few different values the texts are kept: 12 months and 24 months may be the names of plans.
FEWEST_WITH_WORD = 11
_BLANKS = re.compile(r"(?<=\d)[ \u00a0\u202f'](?=\d{3}(?!\d))")


class Numbers(NamedTuple):
    """The numbers that words are, the sign that divides off their decimals if it had to be found, and a unit."""

    values: NDArray[np.float64]
    decimal: str | None = None
    unit: str | None = None  # in letters, as kg


def read_numbers(words: Sequence[str], decimal: Decimal | None = None) -> Numbers | None:
    """The number of each word; None if a word is not a number, or if two readings are possible ('1,234').

    ``decimal`` is the decimal sign, if it is stated.
    """
    if not words:
        return None
    plain = _cast_plain(words, decimal)
    if plain is not None or len({sign for word in words for sign in UNITS.intersection(word)}) > 1:
        return plain
    bare = [_bare(word) for word in words]
    if decimal is None and any(sign in word for word in words for sign in CURRENCIES):
        decimal = _sign_beside_thousands(bare)
    numbers = _separated(bare, decimal)
    return _with_unit(words, decimal) if numbers is None else numbers


def which_are_numbers(words: Sequence[str]) -> NDArray[np.bool_]:
    """Which words are numbers in some reading (or codes of digits), where not all of them are."""
    bare = [_bare(word) for word in words]
    pattern = r"^[+-]?([0-9]+[.]?|[0-9]*[.][0-9]+)([eE][+-]?[0-9]+)?$"
    matches = pc.match_substring_regex(pa.array(bare, pa.string()), pattern)
    plain: NDArray[np.bool_] = matches.to_numpy(zero_copy_only=False).astype(np.bool_)
    separated = [
        fits or ("," in word and (_fits(word, ",") or _fits(word, "."))) for word, fits in zip(bare, plain, strict=True)
    ]
    return np.array(separated, dtype=np.bool_)


def two_readings(words: Sequence[str]) -> bool:
    """Whether the comma of these numbers may be a decimal comma as well as a separator of thousands."""
    bare = [_bare(word) for word in words]
    return any("," in word for word in bare) and all(_fits(word, ",") and _fits(word, ".") for word in bare)


def number_text(number: float) -> str:
    """A number as the name of a class or category: 3 for 3.0."""
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else repr(float(number))


def _cast_plain(words: Sequence[str], decimal: Decimal | None) -> Numbers | None:
    values = None if decimal == "," else _cast(words)
    return None if values is None else Numbers(values)


def _cast(words: Sequence[str]) -> NDArray[np.float64] | None:
    array = pa.array(words, pa.string())
    if pc.any(pc.match_substring_regex(array, _CODE)).as_py():
        return None
    try:
        numbers: NDArray[np.float64] = pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return numbers


def _separated(words: Sequence[str], decimal: Decimal | None) -> Numbers | None:
    """The one reading of all words in which a point and a comma have one meaning each."""
    plain = None if decimal == "," else _cast_plain(words, decimal)
    if plain is not None:
        return plain
    readings = [sign for sign in (",", ".") if decimal in (None, sign) and all(_fits(word, sign) for word in words)]
    if len(readings) != 1:
        return None
    (sign,) = readings
    thousands = "." if sign == "," else ","
    values = _cast([word.replace(thousands, "").replace(sign, ".") for word in words])
    return None if values is None else Numbers(values, sign)


def _with_unit(words: Sequence[str], decimal: Decimal | None) -> Numbers | None:
    """The numbers before one and the same unit in letters; capitals do not matter."""
    if len(words) < FEWEST_WITH_WORD:
        return None
    bare, units = [], set()
    for word in words:
        found = _WITH_WORD.fullmatch(word)
        if found is None:
            return None
        bare.append(_BLANKS.sub("", found[1]))
        units.add(found[2].casefold())
        if len(units) > 1:
            return None
    numbers = _separated(bare, decimal)
    return None if numbers is None else numbers._replace(unit=units.pop())


def _sign_beside_thousands(words: Sequence[str]) -> Decimal | None:
    """The decimal sign where all numbers are whole and the other sign divides off their thousands; else None."""
    if not all(_THOUSANDS.fullmatch(word) for word in words):
        return None
    signs = {sign for word in words for sign in ".," if sign in word}
    return None if len(signs) != 1 else "." if signs == {","} else ","


def _bare(word: str) -> str:
    """A word without a sign of its unit and without blanks between thousands."""
    return _BLANKS.sub("", _UNIT.sub(r"\1", word))


def _fits(word: str, decimal: str) -> bool:
    """Whether a word is a number with this decimal sign, and the other one, if at all, between groups of thousands."""
    whole, _, fraction = word.partition(decimal)
    groups = whole.split("." if decimal == "," else ",")
    if fraction and re.fullmatch(r"\d+([eE][+-]?\d+)?", fraction) is None:
        return False
    if len(groups) == 1:
        return _DIGITS.fullmatch(whole) is not None
    first = re.fullmatch(r"[+-]?[1-9]\d{0,2}", groups[0]) is not None
    return first and all(re.fullmatch(r"\d{3}", group) is not None for group in groups[1:])
