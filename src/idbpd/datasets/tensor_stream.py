"""Write safetensors of which one is made block by block, because it is larger than memory.

The format: eight bytes with the length of the header, the header in JSON, then the bytes of the tensors without a gap.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from idbpd.mtl import Task

ALIGNMENT = 8
TYPES = {"torch.int64": "I64", "torch.float32": "F32"}


class FeatureBlocks(Protocol):
    """Features of a part of a table that are made when they are written."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        ...

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The rows in their order."""
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
    # Those of eight bytes first: readers map the file, and a number lies at a multiple of its size.
    ordered = sorted(tensors.items(), key=lambda item: -item[1].element_size())
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    at = 0
    for key, tensor in ordered:
        header[key] = _entry(TYPES[str(tensor.dtype)], tuple(tensor.shape), at, tensor.nbytes)
        at += tensor.nbytes
    size = 4 * blocks.shape[0] * blocks.shape[1]
    header[name] = _entry("F32", blocks.shape, at, size)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, tensor in ordered:
            file.write(np.ascontiguousarray(tensor.numpy()).data)
        written = 0
        for block in blocks.blocks():
            written += file.write(np.ascontiguousarray(block, dtype="<f4").data)
        if written != size:
            raise ValueError(f"{path}: {written} bytes of features were made, expected {size}")


def _entry(kind: str, shape: tuple[int, ...], at: int, size: int) -> dict[str, Any]:
    return {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
