"""Results of many runs in one folder: one file each, named by a digest of its inputs."""

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

    ``key`` is a digest of everything that determines the result: other data, parameters or code give another key.
    ``failed`` is the reason if there is no result; ``reused`` is true if the result was read from a file.
    """

    key: str
    record: dict[str, Any]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    failed: str | None = None
    reused: bool = False


class ResultsDataset(AbstractDataset[StoredResult, dict[str, Callable[[], StoredResult]]]):
    """A folder of results. Each is saved as soon as it exists; loading gives one reading function per key.

    Failures are not saved, so the next run tries them again.
    """

    def __init__(self, *, folder: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the folder."""
        self._folder = Path(folder)
        self.metadata = metadata

    def load(self) -> dict[str, Callable[[], StoredResult]]:
        """The stored results by key; files that cannot be read (cut off by a full disk, say) are skipped."""
        paths = sorted(self._folder.glob(f"[!.]*{SUFFIX}"))
        return {path.stem: _Reader(path) for path in paths if _is_readable(path)}

    def save(self, data: StoredResult) -> None:
        """Add a result atomically."""
        if data.failed is not None or data.reused:
            return
        with replacing(self._folder / f"{data.key}{SUFFIX}") as partial:
            save_file(data.tensors, partial, metadata={RECORD: json.dumps(data.record)})

    def _exists(self) -> bool:
        return True  # a missing folder counts as an empty one

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
    """The tracked run of one method on one data set in one setting with one seed: all that a report needs."""

    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    history: pd.DataFrame = field(repr=False)  # one row per measured step

    @property
    def failed(self) -> bool:
        """Whether the run ended without a result."""
        return self.tags["status"] == "FAILED"
