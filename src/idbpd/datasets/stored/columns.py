"""The features of a table that stays in its Parquet files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from idbpd.datasets.stored.parquet_rows import ParquetRows
from idbpd.datasets.table import Column, Role, StoredFeatures
from idbpd.datasets.tabular.values import Reading, Values, values_of
from idbpd.errors import DataError

# From this share of numbers on, a table is worth less as a sparse one: products take as long as those with all zeros.
SPARSE_BELOW = 0.08
TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


@dataclass(frozen=True)
class StoredColumn:
    """What is known of a feature, without its values."""

    name: str
    role: Role
    categories: tuple[str, ...] = ()
    filled: float = 1.0  # the share of its values that are not zero


@dataclass(frozen=True)
class StoredColumns(StoredFeatures):
    """Features that are read from their files: a whole column, a block of rows, or a few rows."""

    rows: ParquetRows
    columns: tuple[StoredColumn, ...]
    missing: tuple[str, ...] = ()  # words for a missing value, beside the usual ones
    not_missing: tuple[str, ...] = ()
    digests: Path | None = None  # where the SHA-256 of row groups are kept
    _reading: Reading = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Settle how values are read."""
        object.__setattr__(self, "_reading", Reading(missing=self.missing, not_missing=self.not_missing))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.rows), len(self.columns)

    @property
    def names(self) -> list[str]:
        """The columns, in the order of the files."""
        return [column.name for column in self.columns]

    @property
    def is_sparse(self) -> bool:
        """Whether few of the numbers are not zero. A category is one of many features, a date has no zeros."""
        of_a_row = sum(column.filled for column in self.columns)
        features = sum(max(1, len(column.categories)) for column in self.columns)
        return of_a_row < SPARSE_BELOW * features

    def column(self, at: int) -> Column:
        """One column with all its values."""
        return self._column(self.columns[at], self.rows.column(self.columns[at].name))

    def roles(self) -> list[tuple[str, Role]]:
        """The name and the role of every column."""
        return [(column.name, column.role) for column in self.columns]

    def sha256(self) -> list[str]:
        """SHA-256 of the bytes of every row group; of files that have not changed they are known."""
        return self.rows.digests(self.digests)

    def blocks(self) -> Iterator[tuple[int, list[Column]]]:
        """All columns of some rows at a time, with the number of the first of them."""
        for begin, table in self.rows.blocks(self.names):
            yield begin, self._columns(table)

    def frame(self, rows: NDArray[np.intp] | slice) -> pd.DataFrame:
        """Some rows as they would come in a file to score."""
        wanted = np.arange(len(self.rows))[rows] if isinstance(rows, slice) else rows
        columns = self._columns(self.rows.some(wanted, self.names))
        return pd.DataFrame({column.name: column.series(slice(None)) for column in columns})

    def described(self) -> dict[str, Any]:
        """All that is needed to find the same columns again, as plain data."""
        return {
            "state": self.rows.state,
            "columns": [[column.name, column.role, column.categories, column.filled] for column in self.columns],
            "missing": self.missing,
            "not_missing": self.not_missing,
            "digests": None if self.digests is None else str(self.digests),
        }

    @classmethod
    def restored(cls, about: Mapping[str, Any]) -> "StoredColumns":
        """The columns that were described; a `DataError` if their files are others now."""
        rows = ParquetRows([file for file, *_ in about["state"]])
        for before, now in zip(about["state"], rows.state, strict=True):
            if list(before) != list(now):
                raise DataError(
                    f"{now[0]} has changed since the table was made of it; make it again: kedro run --from-nodes ingest"
                )
        columns = tuple(
            StoredColumn(name, role, tuple(categories), filled) for name, role, categories, filled in about["columns"]
        )
        digests = None if about["digests"] is None else Path(about["digests"])
        return cls(rows, columns, tuple(about["missing"]), tuple(about["not_missing"]), digests)

    def _columns(self, table: pa.Table) -> list[Column]:
        return [self._column(column, table.column(at)) for at, column in enumerate(self.columns)]

    def _column(self, about: StoredColumn, array: pa.ChunkedArray) -> Column:
        if about.role == "category":
            return Column(about.name, about.role, codes_of(array, about.categories, self._reading), about.categories)
        values = values_of(array, about.name, self._reading)
        return Column(about.name, about.role, as_numbers(values))


def is_text(kind: pa.DataType) -> bool:
    """Whether the values of a column are texts."""
    return any(fits(kind.value_type if pa.types.is_dictionary(kind) else kind) for fits in TEXTS)


def as_numbers(values: Values) -> NDArray[np.float64]:
    """Numbers, dates in seconds, or yes and no as 1 and 0; NaN where they are missing."""
    if values.numbers is not None:
        return values.numbers
    codes, words = values.distinct
    return np.array([*(float(word == "True") for word in words), np.nan], dtype=np.float64)[codes]


def codes_of(array: pa.ChunkedArray, categories: Sequence[str], reading: Reading) -> NDArray[np.int32]:
    """The place of every value among the categories, -1 where it is missing."""
    plain = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    if not is_text(plain.type):
        codes, words = values_of(pa.chunked_array([plain]), "", reading).distinct
        place = {word: at for at, word in enumerate(categories)}
        return np.array([*(place[word] for word in words), -1], dtype=np.int32)[codes]
    trimmed = pc.utf8_trim_whitespace(pc.cast(plain, pa.string()))
    found = pc.index_in(trimmed, value_set=pa.array(categories, pa.string()))
    places: NDArray[np.int32] = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    return places
