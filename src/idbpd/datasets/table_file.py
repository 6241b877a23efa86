"""A table of features and targets on disk, in safetensors: sparse features stay sparse."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array

from idbpd.datasets.stored.columns import StoredColumns
from idbpd.datasets.table import Column, Matrix, StoredFeatures, Target, TaskTable

SPARSE_PARTS = ("data", "indices", "indptr")
Arrays = dict[str, NDArray[Any]]


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
        tasks = names["tasks"]
        return TaskTable(
            features=_loaded_features(arrays, names),
            feature_names=tuple(names["features"]),
            labels=arrays["labels"],
            label_names=tuple(names["labels"]),
            groups=arrays.get("groups"),
            positions={position: arrays[f"positions.{position}"] for position in names["positions"]},
            tasks=None if tasks is None else {task: tuple(labels) for task, labels in tasks},
            targets=tuple(_loaded_target(at, target, arrays) for at, target in enumerate(names["targets"])),
            label_kind=names["label_kind"],
            identifiers=tuple(names["identifiers"]),
            content=names["content"],
            grouping={
                name: _loaded_column(name, column, arrays[f"grouping.{name}"])
                for name, column in names["grouping"].items()
            },
        )

    def save(self, data: TaskTable) -> None:
        """Save the table; names are stored in the file's metadata."""
        arrays: Arrays = {"labels": np.ascontiguousarray(data.labels)}
        if data.groups is not None:
            arrays["groups"] = data.groups
        arrays |= {f"grouping.{name}": np.ascontiguousarray(column.values) for name, column in data.grouping.items()}
        arrays |= {f"positions.{position}": column for position, column in data.positions.items()}
        arrays |= _feature_arrays(data.features)
        arrays |= {f"targets.{at}": np.ascontiguousarray(target.values) for at, target in enumerate(data.targets)}
        names = {
            "features": data.feature_names,
            "columns": _column_names(data.features),
            "stored": data.features.described() if isinstance(data.features, StoredFeatures) else None,
            "labels": data.label_names,
            "positions": list(data.positions),
            # Pairs, because the order of the tasks matters.
            "tasks": None if data.tasks is None else list(data.tasks.items()),
            "targets": [_target_names(target) for target in data.targets],
            "label_kind": data.label_kind,
            "identifiers": data.identifiers,
            "content": data.content,
            "grouping": {name: _described(column) for name, column in data.grouping.items()},
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        save_file(arrays, self._path, metadata={"names": json.dumps(names)})

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}


def _feature_arrays(features: Matrix | tuple[Column, ...] | StoredFeatures) -> Arrays:
    if isinstance(features, StoredFeatures):
        return {}  # they stay where they are
    if isinstance(features, tuple):
        return {f"columns.{at}": np.ascontiguousarray(column.values) for at, column in enumerate(features)}
    if isinstance(features, csr_array):
        return {f"features.{part}": getattr(features, part) for part in SPARSE_PARTS}
    return {"features": np.ascontiguousarray(features)}


def _column_names(features: Matrix | tuple[Column, ...] | StoredFeatures) -> list[dict[str, Any]] | None:
    if not isinstance(features, tuple):
        return None
    return [_described(column) for column in features]


def _described(column: Column) -> dict[str, Any]:
    return {"role": column.role, "categories": column.categories, "written": dict(column.written)}


def _loaded_column(name: str, column: Mapping[str, Any], values: NDArray[Any]) -> Column:
    return Column(name, column["role"], values, tuple(column["categories"]), column["written"])


def _loaded_features(arrays: Arrays, names: Mapping[str, Any]) -> Matrix | tuple[Column, ...] | StoredFeatures:
    if names.get("stored") is not None:
        return StoredColumns.restored(names["stored"])
    if names["columns"] is not None:
        return tuple(
            _loaded_column(name, column, arrays[f"columns.{at}"])
            for at, (name, column) in enumerate(zip(names["features"], names["columns"], strict=True))
        )
    if "features" in arrays:
        return arrays["features"]
    parts = tuple(arrays[f"features.{part}"] for part in SPARSE_PARTS)
    return csr_array(parts, shape=(len(arrays["labels"]), len(names["features"])))


def _target_names(target: Target) -> dict[str, Any]:
    return {
        "task": target.task,
        "kind": target.kind,
        "outputs": target.outputs,
        "other": target.other,
        "options": dict(target.options),
    }


def _loaded_target(at: int, target: Mapping[str, Any], arrays: Arrays) -> Target:
    return Target(
        task=target["task"],
        kind=target["kind"],
        outputs=tuple(target["outputs"]),
        values=arrays[f"targets.{at}"],
        other=target["other"],
        options=target["options"],
    )
