"""Tensors on disk, in safetensors: typed, fast, and free of executable code."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from idbpd.datasets.tensor_stream import StreamedData, write_tensors
from idbpd.mtl import Meaning, MultiTaskData, Task


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


class MultiTaskDataset(AbstractDataset[MultiTaskData | StreamedData, MultiTaskData]):
    """The features and tasks of one part (train or test) of a data set."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        """Set the file."""
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> MultiTaskData:
        """Load features and tasks to the CPU. The file is mapped into memory: what is not used is not read."""
        tensors = load_file(self._path)
        with safe_open(self._path, framework="pt") as file:
            described: dict[str, dict[str, Any]] = json.loads(file.metadata()["tasks"])
        tasks = tuple(
            Task(
                name,
                tuple(about["labels"]),
                tensors[f"{name}.rows"],
                tensors[f"{name}.targets"],
                Meaning(**about["meaning"]),
                about["options"],
                tensors.get(f"{name}.groups"),
                tuple(about["group_names"]),
            )
            for name, about in described.items()
        )
        return MultiTaskData(tensors["features"], tasks)

    def save(self, data: MultiTaskData | StreamedData) -> None:
        """Save features and tasks; what the tasks mean is stored in the file's metadata."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        tensors: dict[str, Tensor] = {}
        for task in data.tasks:
            tensors[f"{task.name}.rows"] = task.rows.contiguous()
            tensors[f"{task.name}.targets"] = task.targets.contiguous()
            if task.groups is not None:
                tensors[f"{task.name}.groups"] = task.groups.contiguous()
        described = {
            task.name: {
                "labels": task.labels,
                "meaning": asdict(task.meaning),
                "options": dict(task.options),
                "group_names": task.group_names,
            }
            for task in data.tasks
        }
        metadata = {"tasks": json.dumps(described)}
        if isinstance(data, StreamedData):
            write_tensors(self._path, tensors, "features", data.features, metadata)
        else:
            save_file({"features": data.features.contiguous(), **tensors}, self._path, metadata=metadata)

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
