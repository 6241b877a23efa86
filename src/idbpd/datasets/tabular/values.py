"""What the values of one column are: numbers, dates, yes and no, or texts; not what the column is used for."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from idbpd.datasets.tabular import written_dates
from idbpd.datasets.tabular.spellings import one_spelling, told
from idbpd.datasets.tabular.written_dates import date_text, read_dates, seconds_of, which_are_dates
from idbpd.datasets.tabular.written_numbers import (
    Decimal,
    number_text,
    read_numbers,
    two_readings,
    which_are_numbers,
)

logger = logging.getLogger(__name__)

# Empty values and these are missing values in every text file.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "Null", "null", "None", "<NA>", "NaT", "?", "-", "--", ".")
# If this share of a column's rows are numbers, the others are probably ways to write that a value is missing.
MOSTLY = 0.9
# So are a few words that stand beside numbers in many rows, such as 'unknown'.
FEW_WORDS = 3
HALF = 0.5

Content = Literal["number", "date", "boolean", "text", "nothing", "unreadable"]


@dataclass(frozen=True)
class Reading:
    """How the texts of a file are read: beside what is found from the columns themselves."""

    missing: Sequence[str] = ()  # words for a missing value, beside `MISSING`
    not_missing: Sequence[str] = ()  # words of `MISSING` that are values in this file
    decimal: Decimal | None = None
    likely_decimal: Decimal | None = None  # as other columns of the file have it; where one column has two readings
    date_forms: Mapping[str, str] = field(default_factory=dict)  # by column

    @cached_property
    def absent(self) -> frozenset[str]:
        """All words for a missing value."""
        return frozenset({"", *MISSING, *self.missing}) - set(self.not_missing)


@dataclass(frozen=True)
class Values:
    """A column with its gaps: ``numbers`` of numbers and dates (seconds since 1970), or ``coded`` words."""

    name: str
    content: Content
    numbers: NDArray[np.float64] | None = None  # (rows,), NaN where missing
    coded: tuple[NDArray[np.int32], tuple[str, ...]] | None = None  # codes of rows, -1 where missing, and their words
    written: Mapping[str, Any] = field(default_factory=dict)  # how its texts are read: see `Column`
    gaps: tuple[str, ...] = ()  # the words of its missing values, beside empty ones
    remark: str | None = None  # what people should know about how the column was read

    @cached_property
    def distinct(self) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """The code of each row (-1 where missing), and the different values as texts: numbers and dates in order."""
        if self.coded is not None:
            return self.coded
        assert self.numbers is not None
        known = ~np.isnan(self.numbers)
        values, inverse = np.unique(self.numbers[known], return_inverse=True)
        codes = np.full(len(self.numbers), -1, dtype=np.int32)
        codes[known] = inverse
        write = date_text if self.content == "date" else number_text
        return codes, tuple(write(value) for value in values)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        if self.coded is not None:
            return self.coded[0] >= 0
        assert self.numbers is not None
        return ~np.isnan(self.numbers)

    @cached_property
    def integers(self) -> bool:
        """Whether all values are whole numbers."""
        if self.content != "number" or self.numbers is None:
            return False
        numbers = self.numbers[self.known]
        return bool(np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all())

    def of_rows(self, rows: NDArray[np.intp]) -> "Values":
        """The values of some rows; the different ones are still those of all rows."""
        if self.coded is None:
            assert self.numbers is not None
            return replace(self, numbers=self.numbers[rows])
        codes, words = self.coded
        return replace(self, coded=(codes[rows], words))

    def counts(self) -> NDArray[np.int64]:
        """How many rows have each of the different values."""
        codes, words = self.distinct
        return np.bincount(codes[codes >= 0], minlength=len(words)).astype(np.int64)

    def first_row_of(self, code: int) -> int:
        """The first row with one of the different values."""
        return int(np.argmax(self.distinct[0] == code))


def values_of(column: pa.ChunkedArray, name: str, reading: Reading) -> Values:
    """Find out what the values of a column are."""
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_null(kind):
        return _nothing(name, len(array))
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_time)
    if any(is_text(kind) for is_text in texts):
        return _texts(name, pc.cast(array, pa.string()), reading)
    return _typed(name, array, reading)


def _typed(name: str, array: pa.Array, reading: Reading) -> Values:
    """The values of a column whose type the file states."""
    kind = array.type
    if pa.types.is_boolean(kind):
        codes = pc.fill_null(pc.cast(array, pa.int32()), -1).to_numpy(zero_copy_only=False)
        return _coded(name, "boolean", codes, ["False", "True"], {})
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(name, _floats(array), reading)
    if pa.types.is_duration(kind):
        return _numbers(name, _floats(pc.cast(pc.cast(array, pa.duration("us")), pa.int64())) / 1e6, reading)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moments = pd.DatetimeIndex(pd.to_datetime(array.to_pandas(), utc=True))
        return _or_nothing(Values(name, "date", seconds_of(moments)))
    codes = np.where(array.is_valid().to_numpy(zero_copy_only=False), 0, -1).astype(np.int32)
    return Values(name, "unreadable", coded=(codes, (str(kind),)))


def _floats(array: pa.Array) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _texts(name: str, array: pa.Array, reading: Reading) -> Values:
    encoded = pc.utf8_trim_whitespace(array).dictionary_encode()
    words: list[str] = encoded.dictionary.to_pylist()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    present = np.array([word not in reading.absent for word in words], dtype=np.bool_)
    kept: Sequence[str] = [word for word, is_present in zip(words, present, strict=True) if is_present]
    gaps = tuple(word for word, is_present in zip(words, present, strict=True) if word and not is_present)
    if not kept:
        return _nothing(name, len(codes))
    place = np.full(len(words) + 1, -1, dtype=np.int32)  # the last place is that of the code -1
    place[:-1][present] = np.arange(len(kept))
    codes = place[codes]
    form = reading.date_forms.get(name)
    numbers = read_numbers(kept, reading.decimal) if form is None else None
    if numbers is None and form is None and reading.likely_decimal is not None and two_readings(kept):
        numbers = read_numbers(kept, reading.likely_decimal)
        if numbers is not None:
            logger.info(
                "column %r: %r is read as %s, as %r divides off decimals in other columns; decimal: %r overrules it",
                name,
                kept[0],
                number_text(numbers.values[0]),
                reading.likely_decimal,
                "," if reading.likely_decimal == "." else ".",
            )
    if numbers is not None:
        by_row = np.append(numbers.values, np.nan)[codes]
        return replace(_numbers(name, by_row, reading, decimal=numbers.decimal, unit=numbers.unit), gaps=gaps)
    dates = read_dates(kept, form)
    if dates is not None:
        by_row = np.append(dates.seconds, np.nan)[codes]
        return Values(name, "date", by_row, written=_written(reading, form=dates.form), gaps=gaps)
    codes, kept = _in_one_spelling(name, codes, kept)
    return replace(_coded(name, "text", codes, kept, _written(reading), _remark(name, codes, kept)), gaps=gaps)


def _in_one_spelling(
    name: str, codes: NDArray[np.int32], words: Sequence[str]
) -> tuple[NDArray[np.int32], Sequence[str]]:
    """The codes and words of a column in which words that differ in capitals alone are the same."""
    spellings = one_spelling(words, np.bincount(codes[codes >= 0], minlength=len(words)).astype(np.int64))
    if not spellings:
        return codes, words
    logger.info("column %r: values that differ in capitals alone are read as one: %s", name, told(spellings))
    place = np.arange(len(words) + 1, dtype=np.int32)
    for at, word in enumerate(words):
        place[at] = words.index(spellings.get(word, word))
    place[-1] = -1  # of the code -1
    return place[codes], words


def _coded(
    name: str,
    content: Content,
    codes: NDArray[np.int32],
    words: Sequence[str],
    written: Mapping[str, Any],
    remark: str | None = None,
) -> Values:
    """Words in the order of the alphabet, and only those that occur."""
    occurring = np.bincount(codes[codes >= 0], minlength=len(words)) > 0
    order = sorted((at for at in range(len(words)) if occurring[at]), key=words.__getitem__)
    if not order:
        return _nothing(name, len(codes))
    place = np.full(len(words) + 1, -1, dtype=np.int32)
    place[order] = np.arange(len(order))
    return Values(name, content, coded=(place[codes], tuple(words[at] for at in order)), written=written, remark=remark)


def _numbers(name: str, numbers: NDArray[np.float64], reading: Reading, **found: str | None) -> Values:
    numbers = np.array(numbers, dtype=np.float64)
    for word in reading.missing:  # -999 in a Parquet file, or written as -999.0
        stated = read_numbers([word])
        if stated is not None:
            numbers[numbers == stated.values[0]] = np.nan
    numbers += 0.0  # no negative zero
    return _or_nothing(Values(name, "number", numbers, written=_written(reading, **found)))


def _written(reading: Reading, **found: str | None) -> dict[str, Any]:
    """How texts of this column are to be read later, where that is not plain."""
    missing = {"missing": list(reading.missing)} if reading.missing else {}
    return {key: value for key, value in found.items() if value is not None} | missing


def _or_nothing(values: Values) -> Values:
    return values if values.known.any() else _nothing(values.name, len(values.known))


def _nothing(name: str, rows: int) -> Values:
    return Values(name, "nothing", coded=(np.full(rows, -1, dtype=np.int32), ()))


def _remark(name: str, codes: NDArray[np.int32], words: Sequence[str]) -> str | None:
    if two_readings(words):
        return "its comma may be a decimal comma or separate thousands: say decimal: ',' or decimal: '.'"
    if written_dates.two_readings(words):
        return f"its days and months cannot be told apart: say dates: {{{name}: '%d/%m/%Y'}} or '%m/%d/%Y'"
    rows = np.bincount(codes[codes >= 0], minlength=len(words))
    for what, fitting in (("numbers", which_are_numbers(words)), ("dates", which_are_dates(words))):
        # Where all words fit, they are codes of digits such as 007.
        others = [word for word, fits in zip(words, fitting, strict=True) if not fits]
        share = HALF if len(others) <= FEW_WORDS < fitting.sum() else MOSTLY
        if others and rows[fitting].sum() >= share * rows.sum():
            shown = ", ".join(repr(word) for word in others[:3]) + (", ..." if len(others) > 3 else "")
            return (
                f"all but {int(rows[~fitting].sum())} of its values are {what}; if the others ({shown}) mean that a "
                "value is missing, list them under 'missing'"
            )
    return None
