"""Read a text file of values with a header: every value is a text, and every row knows its line."""

import codecs
import csv
import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.column_names import require_names
from idbpd.errors import ConfigurationError, DataError

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
ROWS_TO_JUDGE = 20  # of the file, to find its delimiter
NOT_WINDOWS = (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")  # bytes without a meaning in cp1252

logger = logging.getLogger(__name__)


def read_csv(
    content: bytes, name: str, *, delimiter: str | None = None, encoding: str | None = None
) -> tuple[pa.Table, Origin]:
    """The columns of a CSV file as texts, and the lines of its rows; delimiter and encoding are found if not stated."""
    text = _decoded(content, name, encoding)
    chosen = delimiter or find_delimiter(text)
    # Arrow knows a quoted value only where the quote follows the delimiter at once; many people write a blank between.
    content = re.sub(rf"{re.escape(chosen)} +\"", f'{chosen}"', text).encode()
    header = _header(content, name, chosen, given=delimiter is not None)
    table = _parsed(content, name, chosen, header)
    lines = _lines(content, table.num_rows, chosen)
    table = _without_unnamed(table)
    origin = Origin(name, lines)
    require_names(table.column_names, origin)
    return table, origin


def find_delimiter(text: str) -> str:
    """The delimiter that divides the header and the rows after it into the same number of values, two at least.

    Of several, the one that gives most values; a comma if none does.
    """
    head = "\n".join(line for line in text[:200_000].splitlines()[: ROWS_TO_JUDGE + 1] if line.strip())
    best, most = ",", (0.0, 1)
    for delimiter in DELIMITERS:
        widths = [width for _, width in _records(head.encode(), delimiter)]
        if not widths or widths[0] < 2:
            continue
        # A comma within values ("Smith, Ann") divides some rows only; the delimiter divides all.
        agreeing = sum(width == widths[0] for width in widths) / len(widths)
        if (agreeing, widths[0]) > most:
            best, most = delimiter, (agreeing, widths[0])
    return best


def first_line(error: Exception) -> str:
    """The first line of an error's message; later lines of Arrow's are details of its own."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _header(content: bytes, name: str, delimiter: str, *, given: bool) -> list[str]:
    if len(delimiter) != 1:
        raise ConfigurationError(f'{name}: delimiter {delimiter!r} is not one character; use , ; | or "\\t"')
    header = _first_record(content, delimiter)
    if given and len(header) == 1:
        for other, words in DELIMITERS.items():
            if other != delimiter and other in header[0]:
                raise ConfigurationError(
                    f"{name}: with delimiter: {delimiter!r} the header is one column, {header[0][:60]!r}; "
                    f"its columns seem to be divided by {words}: leave out 'delimiter', or set it to {other!r}"
                )
    return header


def _first_record(content: bytes, delimiter: str) -> list[str]:
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        return next((record for record in reader if record), [""])
    return [""]


def _parsed(content: bytes, name: str, delimiter: str, header: Sequence[str]) -> pa.Table:
    invalid: list[pyarrow.csv.InvalidRow] = []

    def remember(row: pyarrow.csv.InvalidRow) -> str:
        invalid.append(row)
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(content),
            # One thread, because only then rows are numbered.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(content) + 1),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=remember
            ),
            # All texts: 007 is no 7, and what a value means is decided by the whole column later.
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
        )
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{name}: not a table of values: {first_line(error)}") from error
    if invalid:
        row = invalid[0]
        place = _place_of_width(content, row.actual_columns, delimiter) or f"row {row.number}"
        raise DataError(
            f"{name}, {place}: the row has {row.actual_columns} values, but the header names "
            f"{row.expected_columns} columns"
        )
    texts = [_as_text(column) for column in table.columns]
    return pa.table(texts, names=[column.strip() for column in table.column_names])


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as texts; Arrow infers the type of a column whose name it reads in another way than we do."""
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _without_unnamed(table: pa.Table) -> pa.Table:
    """Without the row numbers that pandas writes as a first column without a name, and without empty columns.

    A delimiter at the end of each line makes such an empty column.
    """
    drop = []
    for at, name in enumerate(table.column_names):
        if not name and table.num_columns > 1:
            values = table.column(at).to_pylist()
            if not any(value and value.strip() for value in values) or (at == 0 and _row_numbers(values)):
                drop.append(at)
    return table.select([at for at in range(table.num_columns) if at not in drop])


def _row_numbers(values: Sequence[str | None]) -> bool:
    return len(set(values)) == len(values) and all(value is not None and value.strip().isdigit() for value in values)


def _decoded(content: bytes, name: str, stated: str | None) -> str:
    encoding = stated or _encoding_of(content, name)
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
    return text


def _encoding_of(content: bytes, name: str) -> str:
    """The encoding of a text: UTF-8 with or without a mark, UTF-16 with one, and else that of Windows.

    Excel saves all three as CSV. A text in another encoding is seldom valid UTF-8, so the order is safe.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if b"\0" in content or any(byte in content for byte in NOT_WINDOWS):
            return "utf-8"
        begin = max(content.rfind(b"\n", 0, error.start) + 1, error.start - 10)
        shown = content[begin : error.start + 10].decode("cp1252").splitlines()[0]
        logger.warning(
            "%s is not UTF-8 (line %d); it is read as cp1252, the encoding of Windows, which gives %r; if that is "
            "wrong, save it as UTF-8, or state its encoding in the block of the data set",
            name,
            line,
            shown,
        )
        return "cp1252"
    return "utf-8"


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
