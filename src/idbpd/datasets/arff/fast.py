"""A fast reader for the data of simple ARFF files, built on a compiled CSV reader.

It understands only the part of the format that published data sets use. It never guesses: for anything else it returns
None, and the line-by-line reader (`idbpd.datasets.arff.rows`) reads the data or reports the error.
"""

import io

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv
from scipy.sparse import csr_array

from idbpd.datasets.arff.header import Attribute, Document

_DENSE = b"0123456789+-.eE,\n"
_SPARSE = _DENSE + b"{} "
_CATEGORY = pa.dictionary(pa.int32(), pa.string())


def read_plain_rows(document: Document) -> tuple[NDArray[np.float64] | csr_array, NDArray[np.int64]] | None:
    """The values and the line of each row, as `idbpd.datasets.arff.rows.read_rows` returns them, or None."""
    data = document.data
    if any(attribute.kind == "text" for attribute in document.header.attributes):
        return None
    if not data.translate(None, _DENSE):
        return _dense(data, document)
    if data.lstrip(b"\n").startswith(b"{") and not data.translate(None, _SPARSE):
        return _sparse(data, document)
    return None


def _dense(data: bytes, document: Document) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    attributes = document.header.attributes
    lines = _filled_lines(data, document.first_line)
    kinds = {str(at): pa.float64() if a.kind == "numeric" else _CATEGORY for at, a in enumerate(attributes)}
    table = _parse(data, kinds, ",")
    if table is None or table.num_rows != len(lines):
        return None
    values = np.empty(table.shape, dtype=np.float64)
    for at, attribute in enumerate(attributes):
        column = table.column(at)
        if attribute.kind == "numeric":
            values[:, at] = column.to_numpy()
        else:
            codes = _codes(column, attribute)
            if codes is None:
                return None
            values[:, at] = codes
    return (values, lines) if np.isfinite(values).all() else None


def _sparse(data: bytes, document: Document) -> tuple[csr_array, NDArray[np.int64]] | None:
    attributes = document.header.attributes
    counts = _pair_counts(data)
    # One pair per line. A row becomes several lines; `counts` says how many.
    pairs = data.replace(b"}", b"").replace(b"{", b"").replace(b",", b"\n")
    table = _parse(pairs, {"0": pa.uint32(), "1": _CATEGORY}, " ")
    if counts is None or table is None or table.num_rows != counts.sum():
        return None
    columns = table.column(0).to_numpy().astype(np.int64)
    texts = table.column(1).unify_dictionaries().combine_chunks()
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rises = np.diff(columns) > 0
    rises[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(columns))] - 1] = True
    if not rises.all() or columns.max(initial=0) >= len(attributes):
        return None
    values = _pair_values(columns, texts, attributes)
    if values is None or not np.isfinite(values).all():
        return None
    matrix = csr_array((values, columns, offsets), shape=(len(counts), len(attributes)))
    return matrix, _filled_lines(data, document.first_line)


def _parse(data: bytes, kinds: dict[str, pa.DataType], delimiter: str) -> pa.Table | None:
    """The data as a table with these columns; None if a row has another length or a value another type."""
    try:
        table = csv.read_csv(
            io.BytesIO(data),
            read_options=csv.ReadOptions(column_names=list(kinds)),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=csv.ConvertOptions(column_types=kinds, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows and not any(column.null_count for column in table.columns) else None


def _filled_lines(data: bytes, first: int) -> NDArray[np.int64]:
    """The numbers of the lines that are not empty."""
    ends = np.flatnonzero(np.frombuffer(data + b"\n", dtype=np.uint8) == ord("\n"))
    lengths = np.diff(ends, prepend=-1) - 1
    return np.flatnonzero(lengths > 0) + first


def _pair_counts(data: bytes) -> NDArray[np.int64] | None:
    """The number of pairs in each non-empty line of a sparse file; None unless every such line is ``{...}``."""
    symbols = np.frombuffer(data + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(symbols == ord("\n"))
    begins = np.concatenate([[0], ends[:-1] + 1])
    filled = ends > begins
    begins, ends = begins[filled], ends[filled]
    opens, closes = np.flatnonzero(symbols == ord("{")), np.flatnonzero(symbols == ord("}"))
    if not np.array_equal(opens, begins) or not np.array_equal(closes, ends - 1):
        return None
    commas = np.flatnonzero(symbols == ord(","))
    inside = np.searchsorted(commas, ends) - np.searchsorted(commas, begins)
    return np.where(ends - begins == 2, 0, inside + 1)


def _codes(column: pa.ChunkedArray, attribute: Attribute) -> NDArray[np.float64] | None:
    """The category of each value; None if a value is not in the set."""
    array = column.unify_dictionaries().combine_chunks()
    table = _category_codes(array, attribute.categories)
    codes: NDArray[np.float64] = table[array.indices.to_numpy()]
    return None if np.isnan(codes).any() else codes


def _category_codes(array: pa.DictionaryArray, categories: tuple[str, ...]) -> NDArray[np.float64]:
    known = {text: float(code) for code, text in enumerate(categories)}
    return np.array([known.get(text, np.nan) for text in array.dictionary.to_pylist()], dtype=np.float64)


def _pair_values(
    columns: NDArray[np.int64], texts: pa.DictionaryArray, attributes: tuple[Attribute, ...]
) -> NDArray[np.float64] | None:
    """The number or the category of each pair. Categories are compared as texts: 1.0 is not the category 1."""
    indices = texts.indices.to_numpy()
    try:
        values: NDArray[np.float64] = pc.cast(texts.dictionary, pa.float64()).to_numpy()[indices]
    except pa.ArrowInvalid:
        return None
    kinds: dict[tuple[str, ...], list[int]] = {}
    for at, attribute in enumerate(attributes):
        if attribute.kind == "nominal":
            kinds.setdefault(attribute.categories, []).append(at)
    for categories, members in kinds.items():
        chosen = np.zeros(len(attributes), dtype=bool)
        chosen[members] = True
        entries = chosen[columns]
        values[entries] = _category_codes(texts, categories)[indices[entries]]
    return values
