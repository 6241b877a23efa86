"""The rows of one or several Parquet files, one after the other, without more of them in memory than is asked for."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from idbpd.datasets.partial import replacing
from idbpd.datasets.tabular.csv_file import first_line
from idbpd.errors import DataError

BYTES_AT_ONCE = 1 << 22
# Numbers that are read at a time, 32 MB as float64. Row groups may be of any size: those of pandas have a million rows.
NUMBERS_AT_A_TIME = 1 << 22


@dataclass(frozen=True)
class RowGroup:
    """A part of a file, with the place of its first row among those of all files."""

    file: int
    number: int
    begin: int
    rows: int
    span: tuple[int, int]  # its bytes in the file


class ParquetRows:
    """The rows of Parquet files with the same columns."""

    def __init__(self, files: Sequence[str]) -> None:
        """Read what the files say of themselves; a damaged one, or one with other columns, is refused."""
        self.files = tuple(files)
        self._open = [_opened(file) for file in files]
        self.schema = self._open[0].schema_arrow
        for file, other in zip(files[1:], self._open[1:], strict=True):
            _require_same(self.schema, other.schema_arrow, files[0], file)
        self.groups = tuple(self._groups())
        self._begins = [group.begin for group in self.groups]

    def __len__(self) -> int:
        """The number of rows."""
        return sum(file.metadata.num_rows for file in self._open)

    @property
    def name(self) -> str:
        """The files, for messages."""
        return " + ".join(self.files)

    @cached_property
    def state(self) -> list[list[Any]]:
        """Size and time of change of each file: other files have others."""
        return [[file, (status := Path(file).stat()).st_size, status.st_mtime_ns] for file in self.files]

    def column(self, name: str) -> pa.ChunkedArray:
        """All values of one column."""
        parts = []
        for file, name_of_file in zip(self._open, self.files, strict=True):
            try:
                parts.append(file.read([name]).column(0))
            except (pa.ArrowException, OSError, ValueError) as error:
                raise DataError(f"{name_of_file}: a damaged Parquet file: {first_line(error)}") from error
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=self.schema.field(name).type)

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """All rows, some at a time, each time with the number of the first of them."""
        for group in self.groups:
            yield from self._parts(group, names)
        pa.default_memory_pool().release_unused()  # what Arrow keeps for the next file, training needs

    def some(self, rows: NDArray[np.intp], names: Sequence[str]) -> pa.Table:
        """Some rows, in the given order; only the row groups that have one of them are read."""
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        found, at = [], 0
        while at < len(wanted):
            group = self.groups[bisect_right(self._begins, int(wanted[at])) - 1]
            for begin, table in self._parts(group, names):
                end = at + int(np.searchsorted(wanted[at:], begin + len(table)))
                if end > at:
                    found.append(table.take(wanted[at:end] - begin))
                at = end
        table = pa.concat_tables(found) if found else self.schema.empty_table().select(list(names))
        return table.take(np.argsort(order, kind="stable"))

    def digests(self, store: Path | None) -> list[str]:
        """SHA-256 of the bytes of every row group. Those of files that have not changed are taken from the store."""
        known = _stored(store)
        found: dict[str, Any] = {}
        for at, (file, size, changed) in enumerate(self.state):
            before = known.get(file, {})
            if before.get("size") == size and before.get("changed") == changed:
                found[file] = before
            else:
                groups = [span_sha256(file, group.span) for group in self.groups if group.file == at]
                found[file] = {"size": size, "changed": changed, "row_groups": groups}
        if store is not None and found != known:
            with replacing(store) as partial:
                partial.write_text(json.dumps(found, indent=1), encoding="utf-8")
        return [digest for file in self.files for digest in found[file]["row_groups"]]

    def _parts(self, group: RowGroup, names: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """The rows of a row group, some at a time."""
        begin, wanted = group.begin, list(names)
        size = max(1, NUMBERS_AT_A_TIME // max(len(wanted), 1))
        try:
            for batch in self._open[group.file].iter_batches(size, row_groups=[group.number], columns=wanted):
                yield begin, pa.Table.from_batches([batch]).select(wanted)
                begin += len(batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            place = f"{self.files[group.file]}, row group {group.number + 1}"
            raise DataError(f"{place}: a damaged Parquet file: {first_line(error)}") from error

    def _groups(self) -> Iterator[RowGroup]:
        begin = 0
        for at, file in enumerate(self._open):
            for number in range(file.metadata.num_row_groups):
                about = file.metadata.row_group(number)
                yield RowGroup(at, number, begin, about.num_rows, _span(about))
                begin += about.num_rows


def _opened(file: str) -> pyarrow.parquet.ParquetFile:
    try:
        # Pages are read as they are needed: a row group of all columns need not be in memory twice.
        return pyarrow.parquet.ParquetFile(file, memory_map=False, buffer_size=1 << 16, pre_buffer=False)
    except FileNotFoundError as error:
        raise DataError(f"cannot read {file}: no such file") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{file}: not a Parquet file, or a damaged one: {first_line(error)}") from error


def _require_same(schema: pa.Schema, other: pa.Schema, file: str, other_file: str) -> None:
    different = sorted(set(schema.names) ^ set(other.names))
    if different:
        raise DataError(
            f"{other_file} and {file} have different columns: {', '.join(different[:10])} in one of them only"
        )
    for field in schema:
        kind = other.field(field.name).type
        if kind != field.type:
            raise DataError(
                f"column {field.name!r} is {kind} in {other_file} and {field.type} in {file}; a table that is larger "
                "than memory has one type for all rows of a column"
            )


def _span(about: Any) -> tuple[int, int]:
    """From the first to the last byte of a row group."""
    begins, ends = [], []
    for at in range(about.num_columns):
        chunk = about.column(at)
        offsets = [chunk.data_page_offset, *([chunk.dictionary_page_offset] if chunk.has_dictionary_page else [])]
        begin = min(offset for offset in offsets if offset)
        begins.append(begin)
        ends.append(begin + chunk.total_compressed_size)
    return min(begins), max(ends)


def span_sha256(file: str, span: tuple[int, int]) -> str:
    """The digest of a file's bytes from one place up to another."""
    digest = hashlib.sha256()
    with Path(file).open("rb") as stream:
        stream.seek(span[0])
        left = span[1] - span[0]
        while left > 0 and (part := stream.read(min(BYTES_AT_ONCE, left))):
            digest.update(part)
            left -= len(part)
    return digest.hexdigest()


def _stored(store: Path | None) -> dict[str, Any]:
    if store is None or not store.exists():
        return {}
    try:
        found: dict[str, Any] = json.loads(store.read_text(encoding="utf-8"))
    except ValueError:
        return {}  # it is made again
    return found
