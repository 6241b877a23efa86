"""Tensors on disk, in safetensors: typed, fast, and free of executable code."""

import json
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from idbpd.mtl import MultiTaskData, Task


class TensorsDataset(AbstractDataset[dict[str, Tensor], dict[str, Tensor]]):
    """A dictionary of named tensors, such as the weights of a network."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the file."""
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> dict[str, Tensor]:
        """Load all tensors to the CPU."""
        return load_file(self._path)

    def save(self, data: dict[str, Tensor]) -> None:
        """Save the tensors, detached and copied to the CPU."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in data.items()}, self._path)

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}


class MultiTaskDataset(AbstractDataset[MultiTaskData, MultiTaskData]):
    """The features and tasks of one part (train or test) of a data set."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the file."""
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> MultiTaskData:
        """Load features and tasks to the CPU."""
        tensors = load_file(self._path)
        with safe_open(self._path, framework="pt") as file:
            labels: dict[str, list[str]] = json.loads(file.metadata()["labels"])
        tasks = tuple(
            Task(name, tuple(names), tensors[f"{name}.rows"], tensors[f"{name}.targets"])
            for name, names in labels.items()
        )
        return MultiTaskData(tensors["features"], tasks)

    def save(self, data: MultiTaskData) -> None:
        """Save features and tasks; label names are stored in the file's metadata."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {"features": data.features.contiguous()}
        for task in data.tasks:
            tensors[f"{task.name}.rows"] = task.rows.contiguous()
            tensors[f"{task.name}.targets"] = task.targets.contiguous()
        labels = json.dumps({task.name: task.labels for task in data.tasks})
        save_file(tensors, self._path, metadata={"labels": labels})

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
