"""Read a file of a user's own as columns, or as a data frame: Parquet, or text in the form of CSV."""

import gzip
import io
import re
import zlib
from collections.abc import Sequence
from pathlib import PurePosixPath

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from idbpd.datasets.table import Origin
from idbpd.datasets.tabular.column_names import listed_names, require_names
from idbpd.datasets.tabular.csv_file import first_line, read_csv
from idbpd.errors import ConfigurationError, DataError

# Files of these kinds are not text; a message that says so is better than one about their first byte.
OTHER_KINDS = (".xlsx", ".xls", ".ods", ".feather", ".json", ".jsonl", ".pkl", ".pickle", ".h5", ".zip", ".arff")
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def require_readable(filepath: str) -> None:
    """Refuse a file whose name says that it is neither text nor Parquet."""
    suffix = PurePosixPath(filepath).suffix.lower()
    if suffix == ".arff":
        raise ConfigurationError(f"{filepath}: ARFF files are read by type: idbpd.datasets.ArffDataset")
    if suffix in OTHER_KINDS:
        raise ConfigurationError(f"{filepath}: a {suffix} file cannot be read; save the table as .csv or .parquet")


def read_columns(
    content: bytes, name: str, *, delimiter: str | None = None, encoding: str | None = None
) -> tuple[pa.Table, Origin]:
    """The columns of one file, as texts if it is a text file, and the places of its rows."""
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{name}: a damaged gzip file: {first_line(error)}") from error
    if not content:
        raise DataError(f"{name}: the file is empty")
    if content.startswith(b"PAR1") or PurePosixPath(name).suffix.lower() == ".parquet":
        table, origin = read_parquet(content, name), Origin(name)
        require_names(table.column_names, origin)
        return table, origin
    return read_csv(content, name, delimiter=delimiter, encoding=encoding)


def read_parquet(content: bytes, name: str) -> pa.Table:
    """The columns of a Parquet file."""
    try:
        # Not read_table: for duplicate column names it fails with a misleading error about the format.
        table = pyarrow.parquet.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{name}: not a Parquet file, or a damaged one: {first_line(error)}") from error
    # pandas saves the index of a shuffled or filtered table as a column. A row number is not a feature.
    return table.drop_columns([column for column in table.column_names if _PANDAS_INDEX.fullmatch(column)])


def joined(parts: Sequence[tuple[pa.Table, Origin]]) -> tuple[pa.Table, Origin]:
    """The rows of several files with the same columns, one after the other."""
    first, origin = parts[0]
    for table, place in parts[1:]:
        if sorted(table.column_names) != sorted(first.column_names):
            other = sorted(set(table.column_names) ^ set(first.column_names))
            raise DataError(
                f"{place.name} and {origin.name} have different columns: {listed_names(other)} in one of them only"
            )
    tables = [table.select(first.column_names) for table, _ in parts]
    try:
        columns = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(f"{_named(parts)}: columns of different types: {first_line(error)}") from error
    return columns, Origin.joined([place for _, place in parts], [len(table) for table in tables])


def read_frame(
    content: bytes, name: str, *, delimiter: str | None = None, encoding: str | None = None
) -> tuple[pd.DataFrame, Origin]:
    """A file as a data frame, as it is: the values of a text file are texts, without blanks around them.

    This is how a file to score is read; what its columns mean, and which words are missing values, the model knows.
    """
    columns, origin = read_columns(content, name, delimiter=delimiter, encoding=encoding)
    if columns.num_rows == 0:
        raise DataError(f"{name}: the table has columns but no rows")
    texts = [
        pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column for column in columns.columns
    ]
    frame: pd.DataFrame = pa.table(texts, names=columns.column_names).to_pandas(ignore_metadata=True)
    return frame, origin


def _named(parts: Sequence[tuple[pa.Table, Origin]]) -> str:
    return " and ".join(origin.name for _, origin in parts)
