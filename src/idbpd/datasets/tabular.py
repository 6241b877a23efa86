"""A user's own table: CSV or Parquet, described in a few lines of YAML."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from kedro.io import DatasetError, Version
from numpy.typing import NDArray

from idbpd.datasets.columns import LABEL_PREFIX, Roles, columns_to_table
from idbpd.datasets.file_dataset import FileDataset
from idbpd.datasets.table import Origin, TaskTable
from idbpd.errors import ConfigurationError, DataError

FORMATS = ("csv", "parquet")


_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


class TabularDataset(FileDataset[TaskTable]):
    """A multi-label table in a CSV file with a header, or in a Parquet file.

    ```yaml
    patients:
      type: idbpd.datasets.TabularDataset
      filepath: data/01_raw/patients.csv
      tasks: # which columns are labels, by task: the first task has priority, every other one keeps a limit
        urgent: [stroke, infarct]
        routine: [flu, cold]
      ignore: [name] # neither feature nor label
      categorical: [ward] # a text that becomes a feature per value
      group: patient # all rows of one patient are in the same part, training or test
    ```

    ``labels: [stroke, infarct, flu, cold]`` instead of ``tasks`` leaves the division to the split. Without either, the
    columns named ``label:...`` are the labels. Every other column is a feature and must be a number.
    """

    def __init__(
        self,
        *,
        filepath: str,
        labels: list[str] | None = None,
        tasks: dict[str, list[str]] | None = None,
        group: str | None = None,
        categorical: list[str] | None = None,
        ignore: list[str] | None = None,
        delimiter: str = ",",
        encoding: str = "utf-8",
        version: Version | None = None,
        credentials: dict[str, Any] | None = None,
        fs_args: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the file and the roles of its columns."""
        self._format = PurePosixPath(filepath).suffix.removeprefix(".").lower()
        if self._format not in FORMATS:
            raise ConfigurationError(f"{filepath}: the file name must end in .csv or .parquet")
        if labels is not None and tasks is not None:
            raise ConfigurationError(f"{filepath}: both 'labels' and 'tasks' name the labels; keep one of them")
        super().__init__(
            filepath=filepath, version=version, credentials=credentials, fs_args=fs_args, metadata=metadata
        )
        # YAML reads a column named 2026 as a number.
        self._tasks = None if tasks is None else {str(task): _texts(members) for task, members in tasks.items()}
        self._labels = None if labels is None else _texts(labels)
        if self._tasks is not None:
            self._labels = _task_labels(self._tasks, filepath)
        self._group = None if group is None else str(group)
        self._categorical = _texts(categorical or [])
        self._ignore = _texts(ignore or [])
        self._delimiter = delimiter
        self._encoding = encoding

    def _parse(self, content: bytes, name: str) -> TaskTable:
        if not content:
            raise DataError(f"{name}: the file is empty")
        if self._format == "csv":
            columns, origin = read_csv(content, name, delimiter=self._delimiter, encoding=self._encoding)
        else:
            columns, origin = read_parquet(content, name), Origin(name)
        labels = self._labels
        if labels is None:
            labels = [column for column in columns.column_names if column.startswith(LABEL_PREFIX)]
        roles = Roles(
            labels=labels, tasks=self._tasks, group=self._group, categorical=self._categorical, ignore=self._ignore
        )
        return columns_to_table(columns, roles, origin)

    def _render(self, data: TaskTable) -> NoReturn:  # noqa: ARG002
        raise DatasetError("a user's table is read-only")


def read_parquet(content: bytes, name: str) -> pa.Table:
    """The columns of a Parquet file."""
    try:
        # Not read_table: for duplicate column names it fails with a misleading error about the format.
        table = pyarrow.parquet.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{name}: not a Parquet file, or a damaged one: {_first_line(error)}") from error
    # pandas saves the index of a shuffled or filtered table as a column. A row number is not a feature.
    return table.drop_columns([column for column in table.column_names if _PANDAS_INDEX.fullmatch(column)])


def read_csv(content: bytes, name: str, *, delimiter: str = ",", encoding: str = "utf-8") -> tuple[pa.Table, Origin]:
    """The columns of a CSV file with inferred types, and the lines of its rows."""
    content = _as_utf8(content, name, encoding)
    invalid: list[pyarrow.csv.InvalidRow] = []

    def remember(row: pyarrow.csv.InvalidRow) -> str:
        invalid.append(row)
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(content),
            # One thread, because only then rows are numbered; one block, because the first block decides the types.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(content) + 1),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=remember
            ),
        )
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{name}: not a table of values: {_first_line(error)}") from error
    if invalid:
        row = invalid[0]
        place = _place_of_width(content, row.actual_columns, delimiter) or f"row {row.number}"
        raise DataError(
            f"{name}, {place}: the row has {row.actual_columns} values, but the header names "
            f"{row.expected_columns} columns"
        )
    return table, Origin(name, _lines(content, table.num_rows, delimiter))


def _as_utf8(content: bytes, name: str, encoding: str) -> bytes:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{content[error.start]:02x} is not {encoding}; "
            "name the file's encoding (for example encoding: latin-1)"
        ) from error
    except LookupError as error:
        raise ConfigurationError(f"{name}: encoding {encoding!r} is not known; use utf-8, latin-1, ...") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{name}, line {line}: zero byte; the file is not text, or needs encoding: utf-16")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise DataError(f"{name}: the file is empty")
    return text.encode()


def _lines(content: bytes, rows: int, delimiter: str) -> NDArray[np.int64] | None:
    """The line of each row; None if it cannot be determined."""
    breaks = content.count(b"\n") + (not content.endswith(b"\n"))
    if breaks == rows + 1:
        return np.arange(2, rows + 2, dtype=np.int64)
    # Empty lines, or values with line breaks in them.
    begins = [line for line, _ in _records(content, delimiter)]
    return np.array(begins[1:], dtype=np.int64) if len(begins) == rows + 1 else None


def _place_of_width(content: bytes, width: int, delimiter: str) -> str | None:
    """The first line whose row has ``width`` values."""
    return next((f"line {line}" for line, count in _records(content, delimiter) if count == width), None)


def _records(content: bytes, delimiter: str) -> Iterator[tuple[int, int]]:
    """The first line and the number of values of each row; ends at the first row that cannot be parsed."""
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
    line = 1
    with suppress(csv.Error):
        for record in reader:
            if record:
                yield line, len(record)
            # The next row begins on the line after the end of this one.
            line = reader.line_num + 1


def _task_labels(tasks: Mapping[str, list[str]], filepath: str) -> list[str]:
    labels = [label for members in tasks.values() for label in members]
    for at, label in enumerate(labels):
        if label in labels[:at]:
            raise ConfigurationError(f"{filepath}: label {label!r} is in 'tasks' twice")
    return labels


def _texts(names: Iterable[Any]) -> list[str]:
    return [str(name) for name in names]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
