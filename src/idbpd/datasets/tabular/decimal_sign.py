"""Which sign divides off decimals in a file: one column may tell what another leaves open."""

import pyarrow as pa
import pyarrow.compute as pc

from idbpd.datasets.tabular.values import Reading
from idbpd.datasets.tabular.written_numbers import Decimal, read_numbers, two_readings

ROWS = 1000  # at the beginning of a file, that are looked at


def likely_decimal(columns: pa.Table, reading: Reading) -> Decimal | None:
    """The sign in columns of numbers with one reading, if a column has two ('45,000'); None where they disagree."""
    samples = [_words(column, reading) for column in columns.columns if pa.types.is_string(column.type)]
    if reading.decimal is not None or not any(words and two_readings(words) for words in samples):
        return None
    signs: set[Decimal] = set()
    for words in samples:
        numbers = read_numbers(words)
        if numbers is not None and numbers.decimal == ",":
            signs.add(",")
        elif numbers is not None and (numbers.decimal == "." or any("." in word for word in words)):
            signs.add(".")
    return signs.pop() if len(signs) == 1 else None


def _words(column: pa.ChunkedArray, reading: Reading) -> list[str]:
    words = pc.unique(pc.utf8_trim_whitespace(column.slice(0, ROWS))).to_pylist()
    return [word for word in words if word is not None and word not in reading.absent]
