"""A multi-label table on disk, in safetensors: sparse features stay sparse."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array

from idbpd.datasets.table import Matrix, TaskTable

SPARSE_PARTS = ("data", "indices", "indptr")


class TaskTableDataset(AbstractDataset[TaskTable, TaskTable]):
    """The checked table that a run works with."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the file."""
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> TaskTable:
        """Load the table; errors about it refer to rows from now on, because the original file is not known."""
        arrays = load_file(self._path)
        with safe_open(self._path, framework="np") as file:
            names = json.loads(file.metadata()["names"])
        features: Matrix
        if "features" in arrays:
            features = arrays["features"]
        else:
            parts = tuple(arrays[f"features.{part}"] for part in SPARSE_PARTS)
            features = csr_array(parts, shape=(len(arrays["labels"]), len(names["features"])))
        tasks = names["tasks"]
        return TaskTable(
            features=features,
            feature_names=tuple(names["features"]),
            labels=arrays["labels"],
            label_names=tuple(names["labels"]),
            groups=arrays.get("groups"),
            positions={position: arrays[f"positions.{position}"] for position in names["positions"]},
            tasks=None if tasks is None else {task: tuple(labels) for task, labels in tasks},
        )

    def save(self, data: TaskTable) -> None:
        """Save the table; names are stored in the file's metadata."""
        arrays: dict[str, NDArray[Any]] = {"labels": np.ascontiguousarray(data.labels)}
        if isinstance(data.features, csr_array):
            arrays |= {f"features.{part}": getattr(data.features, part) for part in SPARSE_PARTS}
        else:
            arrays["features"] = np.ascontiguousarray(data.features)
        if data.groups is not None:
            arrays["groups"] = data.groups
        arrays |= {f"positions.{position}": column for position, column in data.positions.items()}
        names = {
            "features": data.feature_names,
            "labels": data.label_names,
            "positions": list(data.positions),
            # Pairs, because the order of the tasks matters.
            "tasks": None if data.tasks is None else list(data.tasks.items()),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        save_file(arrays, self._path, metadata={"names": json.dumps(names)})

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
