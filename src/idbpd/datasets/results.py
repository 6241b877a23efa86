"""Results of many runs in one folder, each in a file of its own, named by what it was made from."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from kedro.io import AbstractDataset
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from idbpd.datasets.atomic import replacing

RECORD = "record"
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class StoredResult:
    """One result: a record of plain data, and tensors.

    ``key`` is a digest of everything that decides the result, so a result made with other data, parameters or code has
    another key and is never taken for this one. ``failed`` says why there is none; ``reused``, that it was read.
    """

    key: str
    record: dict[str, Any]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    failed: str | None = None
    reused: bool = False


class ResultsDataset(AbstractDataset[StoredResult, dict[str, Callable[[], StoredResult]]]):
    """A folder of results. Each is saved by itself, when it is there; loading gives a function per key that reads it.

    A failure is not a result: it is not kept, and is tried again the next time.
    """

    def __init__(self, *, folder: str, metadata: dict[str, Any] | None = None) -> None:
        """Name the folder."""
        self._folder = Path(folder)
        self.metadata = metadata

    def load(self) -> dict[str, Callable[[], StoredResult]]:
        """What is there, by key; a file that cannot be read (cut off by a full disk, say) is not there."""
        paths = sorted(self._folder.glob(f"[!.]*{SUFFIX}"))
        return {path.stem: _Reader(path) for path in paths if _is_readable(path)}

    def save(self, data: StoredResult) -> None:
        """Add a result, whole or not at all."""
        if data.failed is not None or data.reused:
            return
        with replacing(self._folder / f"{data.key}{SUFFIX}") as partial:
            save_file(data.tensors, partial, metadata={RECORD: json.dumps(data.record)})

    def _exists(self) -> bool:
        return True  # nothing yet is a folder without results

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}


@dataclass(frozen=True)
class _Reader:
    path: Path

    def __call__(self) -> StoredResult:
        with safe_open(self.path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            record = json.loads(file.metadata()[RECORD])
        return StoredResult(self.path.stem, record, tensors, reused=True)


def _is_readable(path: Path) -> bool:
    try:
        with safe_open(path, framework="pt") as file:
            return RECORD in (file.metadata() or {})
    except SafetensorError:
        return False


@dataclass(frozen=True)
class BenchmarkCell:
    """What was tracked of one method on one data set in one setting with one seed: all that a report needs."""

    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    history: pd.DataFrame = field(repr=False)  # a row per step that was measured

    @property
    def failed(self) -> bool:
        """Whether it ended without a result."""
        return self.tags["status"] == "FAILED"
