"""Write safetensors of which one is made block by block, because it is larger than memory.

The format: eight bytes with the length of the header, the header in JSON, then the bytes of the tensors without a gap.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from idbpd.mtl import Task

ALIGNMENT = 8
TYPES = {"torch.int64": "I64", "torch.float32": "F32"}
SPARSE_PARTS = ("begins", "columns", "values")  # of `idbpd.mtl.SparseRows`


class FeatureBlocks(Protocol):
    """Features of a part of a table that are made when they are written."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        ...

    @property
    def is_sparse(self) -> bool:
        """Whether most of the numbers are zeros, so that only the others are written."""
        ...

    def blocks(self) -> Iterator[NDArray[np.float32]] | Iterator[csr_array]:
        """The rows in their order, with their zeros or, if ``is_sparse``, without."""
        ...


@dataclass(frozen=True)
class StreamedData:
    """`MultiTaskData` before it is saved: tasks in memory, features that are never in memory as a whole."""

    features: FeatureBlocks
    tasks: tuple[Task, ...]


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], name: str, blocks: FeatureBlocks, metadata: Mapping[str, str]
) -> None:
    """Write the tensors, and under ``name`` the one of the blocks."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    ordered = _ordered(tensors)
    at = _enter(header, ordered)
    size = 4 * blocks.shape[0] * blocks.shape[1]
    header[name] = _entry("F32", blocks.shape, at, size)
    with path.open("wb") as file:
        _write_header(file, header)
        for tensor in ordered.values():
            file.write(np.ascontiguousarray(tensor.numpy()).data)
        written = 0
        for block in blocks.blocks():
            written += file.write(np.ascontiguousarray(block, dtype="<f4").data)
        if written != size:
            raise ValueError(f"{path}: {written} bytes of features were made, expected {size}")


def write_sparse_tensors(
    path: Path, tensors: Mapping[str, Tensor], name: str, blocks: FeatureBlocks, metadata: Mapping[str, str]
) -> None:
    """The same for blocks of mostly zeros, as the three parts of a sparse table.

    How many numbers there are is known at the end: the header is written last, and the values go to a file without a
    name first, because they stand behind all columns.
    """
    rows, width = blocks.shape
    begins, count, written = np.zeros(rows + 1, dtype="<i8"), 0, 0
    ordered = _ordered(tensors)
    with path.open("wb") as file, TemporaryFile(dir=path.parent) as values:
        _write_header(file, _sparse_header(metadata, ordered, name, rows, rows * width))  # none will be longer
        length = file.tell()
        for tensor in ordered.values():
            file.write(np.ascontiguousarray(tensor.numpy()).data)
        at = file.seek(begins.nbytes, 1) - begins.nbytes
        for block in blocks.blocks():
            part = csr_array(block)
            here = part.shape[0]
            begins[written + 1 : written + 1 + here] = count + part.indptr[1:]
            file.write(np.ascontiguousarray(part.indices, dtype="<i4").data)
            values.write(np.ascontiguousarray(part.data, dtype="<f4").data)
            count, written = count + part.nnz, written + here
        if written != rows:
            raise ValueError(f"{path}: {written} rows of features were made, expected {rows}")
        values.seek(0)
        shutil.copyfileobj(values, file, 1 << 22)
        file.seek(at)
        file.write(begins.data)
        file.seek(0)
        _write_header(file, _sparse_header(metadata, ordered, name, rows, count), length)


def _sparse_header(
    metadata: Mapping[str, str], ordered: Mapping[str, Tensor], name: str, rows: int, count: int
) -> dict[str, Any]:
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    at = _enter(header, ordered)
    lengths = {"begins": ("I64", rows + 1, 8), "columns": ("I32", count, 4), "values": ("F32", count, 4)}
    for part in SPARSE_PARTS:
        kind, length, size = lengths[part]
        header[f"{name}.{part}"] = _entry(kind, (length,), at, size * length)
        at += size * length
    return header


def _ordered(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those of eight bytes first: readers map the file, and a number lies at a multiple of its size."""
    return dict(sorted(tensors.items(), key=lambda item: -item[1].element_size()))


def _enter(header: dict[str, Any], ordered: Mapping[str, Tensor]) -> int:
    """List tensors in the header; where the next one begins."""
    at = 0
    for key, tensor in ordered.items():
        header[key] = _entry(TYPES[str(tensor.dtype)], tuple(tensor.shape), at, tensor.nbytes)
        at += tensor.nbytes
    return at


def _write_header(file: BinaryIO, header: Mapping[str, Any], length: int = 0) -> None:
    """The header, filled up with blanks to a multiple of `ALIGNMENT`, and to a length."""
    text = json.dumps(header).encode()
    text += b" " * max(-len(text) % ALIGNMENT, length - 8 - len(text))
    file.write(len(text).to_bytes(8, "little") + text)


def _entry(kind: str, shape: tuple[int, ...], at: int, size: int) -> dict[str, Any]:
    return {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
