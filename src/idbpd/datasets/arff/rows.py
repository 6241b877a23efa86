"""Line-by-line reader for the data of an ARFF file: the whole format, with exact error messages."""

import re
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from idbpd.datasets.arff.header import Attribute, Document, decoding_error
from idbpd.datasets.arff.values import (
    COMMENT,
    ArffSyntaxError,
    Value,
    closing_brace,
    parse_number,
    read_value,
    shorten,
    split_values,
)
from idbpd.errors import DataError

_INDEX = re.compile(r"[ \t]*([0-9]+)[ \t]+")
Values: TypeAlias = NDArray[np.float64] | csr_array


def read_rows(document: Document, name: str) -> tuple[Values, NDArray[np.int64]]:
    """The values of all rows, and the line of each row.

    A nominal value is the index of its category, a missing value is NaN, a text is 0. As the format defines it, values
    that a sparse row does not list are 0, which is the first category of a nominal attribute.
    """
    attributes = document.header.attributes
    codes = [{text: float(code) for code, text in enumerate(attribute.categories)} for attribute in attributes]
    rows: list[list[float]] = []
    columns: list[list[int]] = []
    lines: list[int] = []
    for number, raw in enumerate(document.data.split(b"\n"), start=document.first_line):
        try:
            line = raw.decode().strip()
            if not line or line.startswith(COMMENT):
                continue
            sparse = line.startswith("{")
            if lines and sparse != bool(columns):
                raise ArffSyntaxError("dense and sparse rows in one file")
            if sparse:
                indices, values = _sparse_row(line, attributes, codes)
                columns.append(indices)
            else:
                values = _dense_row(line, attributes, codes)
        except UnicodeDecodeError as error:
            raise decoding_error(error, name, number) from error
        except ArffSyntaxError as error:
            raise DataError(f"{name}, line {number}: {error}") from error
        rows.append(values)
        lines.append(number)
    if not rows:
        raise DataError(f"{name}, line {document.first_line}: no row after @data")
    if not columns:
        return np.array(rows, dtype=np.float64), np.array(lines, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
    flat = np.concatenate([np.array(row, dtype=np.float64) for row in rows])
    indices_flat = np.concatenate([np.array(row, dtype=np.int64) for row in columns])
    matrix = csr_array((flat, indices_flat, offsets), shape=(len(rows), len(attributes)))
    return matrix, np.array(lines, dtype=np.int64)


def _dense_row(line: str, attributes: tuple[Attribute, ...], codes: list[dict[str, float]]) -> list[float]:
    values = split_values(line)
    if len(values) != len(attributes):
        raise ArffSyntaxError(f"the row has {len(values)} values, expected {len(attributes)}")
    return [_number(*triple) for triple in zip(values, attributes, codes, strict=True)]


def _sparse_row(
    line: str, attributes: tuple[Attribute, ...], codes: list[dict[str, float]]
) -> tuple[list[int], list[float]]:
    """The indices of a sparse row in ascending order, and their values."""
    entries: dict[int, float] = {}
    body = _without_braces(line)
    at = 0
    while body and at <= len(body):
        found = _INDEX.match(body, at)
        if found is None:
            raise ArffSyntaxError(f"expected an index and a value, found {shorten(body[at:])!r}")
        index = int(found.group(1)) if len(found.group(1)) < 20 else len(attributes)
        if index >= len(attributes):
            raise ArffSyntaxError(
                f"index {shorten(found.group(1))} is out of range: there are {len(attributes)} attributes, "
                "counted from 0"
            )
        if index in entries:
            raise ArffSyntaxError(f"index {index} is named twice")
        value, at = read_value(body, found.end())
        entries[index] = _number(value, attributes[index], codes[index])
        at += 1  # the comma
    indices = sorted(entries)
    return indices, [entries[index] for index in indices]


def _without_braces(line: str) -> str:
    """The text between the braces of a sparse row; a comment may follow them."""
    close = closing_brace(line)
    rest = line[close + 1 :].strip()
    if rest and not rest.startswith(COMMENT):
        raise ArffSyntaxError(f"unexpected {shorten(rest)!r} after the closing brace")
    return line[1:close].strip()


def _number(value: Value, attribute: Attribute, codes: dict[str, float]) -> float:
    if value.is_missing:
        return float("nan")
    if attribute.kind == "text":
        return 0.0
    if attribute.kind == "numeric":
        try:
            return parse_number(value.text)
        except ArffSyntaxError as error:
            raise ArffSyntaxError(f"attribute {attribute.name!r}: {error}") from None
    code = codes.get(value.text)
    if code is None:
        allowed = shorten(", ".join(attribute.categories))
        raise ArffSyntaxError(f"attribute {attribute.name!r}: {shorten(value.text)!r} is not one of {{{allowed}}}")
    return code
