"""Thousands of damaged files: each gives an error of ours or a table that makes sense, never a crash or nonsense."""

import gzip
import io
import math
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from idbpd.datasets.arff import reader
from idbpd.datasets.arff.mulan import read_mulan_labels
from idbpd.datasets.arff.reader import read_arff
from idbpd.datasets.arff.writer import render_arff
from idbpd.datasets.idx import TYPES, decompressed, parse_idx, render_idx
from idbpd.datasets.table import Origin, TaskTable
from idbpd.datasets.tabular.column_names import LABEL_PREFIX
from idbpd.datasets.tabular.columns import Roles, columns_to_table
from idbpd.datasets.tabular.csv_file import read_csv
from idbpd.datasets.tabular.reading import read_parquet
from idbpd.errors import InputError

DENSE = b"""@relation 'x: -C -2'
@attribute a numeric
@attribute 'b c' {red,'dark blue',?}
@attribute d real
@attribute p {0,1}
@attribute q {1,0}
@data
1,red,-2.5e3,0,1
% comment
.5,'dark blue',7,1,0
?,"red",1e-3,1,1
"""
PLAIN = b"""@relation 'x: -C 2'
@attribute p {0,1}
@attribute q {0,1}
@attribute a numeric
@attribute b numeric
@data
0,1,1.5,-2
1,0,7,1e-3
1,1,0,12345.678
"""
SPARSE = b"""@relation 'x: -C -2'
@attribute a numeric
@attribute b numeric
@attribute c {u,v,w}
@attribute p {0,1}
@attribute q {0,1}
@data
{0 1,1 2.5,3 1}
{}
{1 3,4 1}
{2 w,3 1,4 1}
"""
PLAIN_SPARSE = SPARSE.replace(b"2 w,", b"")
XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<labels xmlns="http://x">
<label name="p"/>
<label name="q"/>
</labels>"""
CSV = b'x,y,when,colour,label:p,label:q\n1,2.5,2024-01-31,red,0,1\n-3,"4",2024-02-01,?,1,no\n5e3,,,blue,yes,1\n'
IDX = render_idx(np.arange(24, dtype=np.int16).reshape(2, 3, 4))
PIECES = (
    b", \n \r { } ' \" \\ % ? - 0 9 1e999 nan @data @attribute \0 \xff \xc3\xa9 <label /> &amp; \x1f\x8b 2147483648"
)
TOKENS = [b" ", b"\t", *PIECES.split(b" "), b"\n@data\n"]
Result = TypeVar("Result")


class Damage(NamedTuple):
    """One damage to a file: what happens, where (as a share of its length), over how many bytes, and with what."""

    kind: str
    at: float
    length: int
    token: bytes

    def apply(self, content: bytes) -> bytes:
        at = round(self.at * len(content))
        before, hit, after = content[:at], content[at : at + self.length], content[at + self.length :]
        match self.kind:
            case "delete":
                return before + after
            case "insert":
                return before + self.token + hit + after
            case "replace":
                return before + self.token + after
            case "repeat":
                return before + hit + hit + after
            case "copy to the end":
                return content + hit
            case _:
                return before


KINDS = ("delete", "insert", "replace", "repeat", "copy to the end", "cut off")
damages = st.lists(
    st.builds(
        Damage,
        st.sampled_from(KINDS),
        st.floats(0, 1),
        st.integers(1, 4),
        st.one_of(st.sampled_from(TOKENS), st.binary(min_size=1, max_size=2)),
    ),
    min_size=1,
    max_size=2,
)


def damaged(*contents: bytes) -> st.SearchStrategy[bytes]:
    """One of these files with one or two small damages."""
    return st.builds(
        lambda content, chosen: reduce(lambda data, damage: damage.apply(data), chosen, content),
        st.sampled_from(contents),
        damages,
    )


def many(examples: int) -> settings:
    """The same examples on every run: what fails here fails everywhere."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


def _outcome(read: Callable[[], Result]) -> Result | str:
    """What was read, or what our error says; any other error is a failure of the test."""
    try:
        return read()
    except InputError as error:
        message = str(error)
    assert message.startswith("file")
    assert "\n" not in message
    return message


def _require_sense(table: TaskTable, rows: int) -> None:
    assert 0 < len(table) <= rows
    assert set(np.unique(table.labels)) <= {0, 1}
    assert len(set(table.feature_names)) == len(table.feature_names)
    assert not set(table.feature_names) & set(table.label_names)


def _require_equal(one: TaskTable, other: TaskTable) -> None:
    assert (one.feature_names, one.label_names) == (other.feature_names, other.label_names)
    np.testing.assert_array_equal(one.dense_features(slice(None)), other.dense_features(slice(None)))
    np.testing.assert_array_equal(one.labels, other.labels)


@many(1500)
@given(damaged(DENSE, PLAIN, SPARSE, PLAIN_SPARSE))
def test_arff(content: bytes) -> None:
    found = _outcome(lambda: read_arff(content, "file"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "read_plain_rows", lambda _: None)
        exact = _outcome(lambda: read_arff(content, "file"))
    if isinstance(exact, str) or isinstance(found, str):
        assert found == exact
        return
    _require_equal(found, exact)
    np.testing.assert_array_equal(found.origin.lines, exact.origin.lines)
    _require_sense(found, content.count(b"\n") + content.count(b"\r") + 1)
    if not np.isinf(found.dense_features(slice(None))).any():
        _require_equal(read_arff(render_arff(found, "again"), "again"), found)


@many(400)
@given(damaged(XML))
def test_mulan_xml(content: bytes) -> None:
    labels = _outcome(lambda: read_mulan_labels(content, "file"))
    if not isinstance(labels, str):
        assert len(labels.names) == len(set(labels.names)) == len(labels.declared_in) > 0


@many(700)
@given(damaged(IDX, gzip.compress(IDX, mtime=0)))
def test_idx(content: bytes) -> None:
    plain = _outcome(lambda: decompressed(content, "file"))
    array = plain if isinstance(plain, str) else _outcome(lambda: parse_idx(plain, "file"))
    if isinstance(plain, str) or isinstance(array, str):
        return
    assert array.dtype.newbyteorder(">") == TYPES[plain[2]]
    assert 4 + 4 * array.ndim + math.prod(array.shape) * array.dtype.itemsize == len(plain)
    np.testing.assert_array_equal(parse_idx(render_idx(array), "again"), array)


def _labelled(columns: pa.Table, origin: Origin) -> TaskTable:
    labels = [name for name in columns.column_names if name.startswith(LABEL_PREFIX)]
    return columns_to_table(columns, Roles(labels=labels), origin)


@many(800)
@given(damaged(CSV))
def test_csv(content: bytes) -> None:
    table = _outcome(lambda: _labelled(*read_csv(content, "file")))
    if isinstance(table, str):
        return
    _require_sense(table, content.count(b"\n") + content.count(b"\r") + 1)
    if table.origin.lines is not None:
        assert (np.diff(table.origin.lines) > 0).all()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    columns = pa.table({"x": [1.0, 2.0], "label:p": [0, 1], "label:q": [1, 0]})
    pyarrow.parquet.write_table(columns, buffer, write_page_checksum=True)
    return buffer.getvalue()


@many(300)
@given(damaged(_parquet()))
def test_parquet(content: bytes) -> None:
    table = _outcome(lambda: _labelled(read_parquet(content, "file"), Origin("file")))
    if not isinstance(table, str):
        assert set(np.unique(table.labels)) <= {0, 1}


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
values = st.one_of(st.just(0.0), st.floats(width=32, allow_infinity=False, allow_nan=False))


@many(150)
@given(
    st.lists(names, min_size=3, max_size=6, unique=True),
    st.lists(st.lists(values, min_size=6, max_size=6), min_size=1, max_size=4),
    st.booleans(),
)
def test_any_table_can_be_written_and_read_back(columns: list[str], rows: list[list[float]], sparse: bool) -> None:
    features = np.array(rows, dtype=np.float32)[:, : len(columns) - 2] + np.float32(0)  # no negative zero
    table = TaskTable(
        features=csr_array(features) if sparse else features,
        feature_names=tuple(columns[2:]),
        labels=np.array([[value > 0, value <= 0] for value in features[:, 0]], dtype=np.int8),
        label_names=tuple(columns[:2]),
    )
    again = read_arff(render_arff(table, columns[0]), "again")
    _require_equal(again, table)
