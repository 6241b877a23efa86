"""Thousands of damaged files: each gives an error of ours or a table that makes sense, never a crash or nonsense."""

import gzip
import io
import math
import random
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from idbpd.datasets.arff import reader
from idbpd.datasets.arff.fast import read_plain_rows
from idbpd.datasets.arff.mulan import read_mulan_labels
from idbpd.datasets.arff.reader import read_arff
from idbpd.datasets.arff.writer import render_arff
from idbpd.datasets.columns import LABEL_PREFIX, Roles, columns_to_table
from idbpd.datasets.idx import TYPES, decompressed, parse_idx, render_idx
from idbpd.datasets.table import MultiLabelTable, Origin
from idbpd.datasets.tabular import read_csv, read_parquet
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
CSV = b'x,y,label:p,label:q\n1,2.5,0,1\n-3,"4",1,0\n5e3,,1,1\n'
IDX = render_idx(np.arange(24, dtype=np.int16).reshape(2, 3, 4))
PIECES = (
    b", \n \r { } ' \" \\ % ? - 0 9 1e999 nan @data @attribute \0 \xff \xc3\xa9 <label /> &amp; \x1f\x8b 2147483648"
)
TOKENS = [b" ", b"\t", *PIECES.split(b" "), b"\n@data\n"]
Result = TypeVar("Result")


def _mutated(content: bytes, chance: random.Random) -> bytes:
    """One or two small damages."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(data) + 1)
        upto = min(len(data), at + chance.randint(1, 4))
        match chance.randrange(6):
            case 0:
                data[at:upto] = b""
            case 1:
                data[at:at] = chance.choice(TOKENS)
            case 2:
                data[at:upto] = chance.choice(TOKENS)
            case 3:
                data[at:at] = data[at:upto]
            case 4 if at < len(data):
                data[at] = chance.randrange(256)
            case _:
                elsewhere = chance.randrange(len(data) + 1)
                data[elsewhere:elsewhere] = data[at:upto]
    return bytes(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.05 else data)


def _outcome(read: Callable[[], Result]) -> Result | str:
    """What was read, or what our error says; any other error is a failure of the test."""
    try:
        return read()
    except InputError as error:
        message = str(error)
    assert message.startswith("file")
    assert "\n" not in message
    return message


def _require_sense(table: MultiLabelTable, rows: int) -> None:
    assert 0 < len(table) <= rows
    assert set(np.unique(table.labels)) <= {0, 1}
    assert len(set(table.feature_names)) == len(table.feature_names)
    assert not set(table.feature_names) & set(table.label_names)


def _require_equal(one: MultiLabelTable, other: MultiLabelTable) -> None:
    assert (one.feature_names, one.label_names) == (other.feature_names, other.label_names)
    np.testing.assert_array_equal(one.dense_features(slice(None)), other.dense_features(slice(None)))
    np.testing.assert_array_equal(one.labels, other.labels)


@pytest.mark.parametrize("seed", [DENSE, PLAIN, SPARSE, PLAIN_SPARSE], ids=["dense", "plain", "sparse", "plain sparse"])
def test_arff(seed: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(0)
    accepted = 0
    for _ in range(4000):
        content = _mutated(seed, chance)
        monkeypatch.setattr(reader, "read_plain_rows", lambda _: None)
        exact = _outcome(lambda: read_arff(content, "file"))  # noqa: B023
        monkeypatch.setattr(reader, "read_plain_rows", read_plain_rows)
        found = _outcome(lambda: read_arff(content, "file"))  # noqa: B023
        if isinstance(exact, str) or isinstance(found, str):
            assert found == exact, content
            continue
        accepted += 1
        _require_equal(found, exact)
        np.testing.assert_array_equal(found.origin.lines, exact.origin.lines)
        _require_sense(found, content.count(b"\n") + content.count(b"\r") + 1)
        if np.isinf(found.dense_features(slice(None))).any():
            continue
        _require_equal(read_arff(render_arff(found, "again"), "again"), found)
    assert accepted > 100  # the damages are small enough to leave something


def test_mulan_xml() -> None:
    chance = random.Random(0)
    for _ in range(5000):
        content = _mutated(XML, chance)
        labels = _outcome(lambda: read_mulan_labels(content, "file"))  # noqa: B023
        if isinstance(labels, str):
            continue
        assert len(labels.names) == len(set(labels.names)) == len(labels.said_by) > 0


def test_idx() -> None:
    chance = random.Random(0)
    for seed in (IDX, gzip.compress(IDX, mtime=0)):
        for _ in range(1500):
            content = _mutated(seed, chance)
            plain = _outcome(lambda: decompressed(content, "file"))  # noqa: B023
            array = plain if isinstance(plain, str) else _outcome(lambda: parse_idx(plain, "file"))  # noqa: B023
            if isinstance(plain, str) or isinstance(array, str):
                continue
            assert array.dtype.newbyteorder(">") == TYPES[plain[2]]
            assert 4 + 4 * array.ndim + math.prod(array.shape) * array.dtype.itemsize == len(plain)
            np.testing.assert_array_equal(parse_idx(render_idx(array), "again"), array)


def _labelled(columns: pa.Table, origin: Origin) -> MultiLabelTable:
    labels = [name for name in columns.column_names if name.startswith(LABEL_PREFIX)]
    return columns_to_table(columns, Roles(labels=labels), origin)


def test_csv() -> None:
    chance = random.Random(0)
    accepted = 0
    for _ in range(4000):
        content = _mutated(CSV, chance)
        table = _outcome(lambda: _labelled(*read_csv(content, "file")))  # noqa: B023
        if isinstance(table, str) or not len(table):
            continue
        accepted += 1
        _require_sense(table, content.count(b"\n") + content.count(b"\r") + 1)
        if table.origin.lines is not None:
            assert (np.diff(table.origin.lines) > 0).all()
    assert accepted > 100


def test_parquet() -> None:
    buffer = io.BytesIO()
    columns = pa.table({"x": [1.0, 2.0], "label:p": [0, 1], "label:q": [1, 0]})
    pyarrow.parquet.write_table(columns, buffer, write_page_checksum=True)
    chance = random.Random(0)
    for _ in range(1000):
        content = _mutated(buffer.getvalue(), chance)
        table = _outcome(lambda: _labelled(read_parquet(content, "file"), Origin("file")))  # noqa: B023
        if not isinstance(table, str):
            assert set(np.unique(table.labels)) <= {0, 1}
