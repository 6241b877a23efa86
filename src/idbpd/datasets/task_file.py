"""Features and tasks in one file, in safetensors: written and read without Kedro, which ranks and estimators lack."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from idbpd.datasets.tensor_stream import SPARSE_PARTS, StreamedData, write_sparse_tensors, write_tensors
from idbpd.mtl import Features, Meaning, MultiTaskData, SparseRows, Task


def load_tasks(path: Path) -> MultiTaskData:
    """Load features and tasks to the CPU. The file is mapped into memory: what is not used is not read."""
    tensors = load_file(path)
    with safe_open(path, framework="pt") as file:
        described: dict[str, dict[str, Any]] = json.loads(file.metadata()["tasks"])
        width = int(file.metadata().get("width", 0))
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
    return MultiTaskData(_features(tensors, width), tasks)


def save_tasks(data: MultiTaskData | StreamedData, path: Path) -> None:
    """Save features and tasks; what the tasks mean is stored in the file's metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
    metadata = {"tasks": json.dumps(described), "width": str(data.features.shape[1])}
    if isinstance(data, StreamedData):
        write = write_sparse_tensors if data.features.is_sparse else write_tensors
        write(path, tensors, "features", data.features, metadata)
    else:
        save_file({**_tensors(data.features), **tensors}, path, metadata=metadata)


def _features(tensors: Mapping[str, Tensor], width: int) -> Features:
    if "features" in tensors:
        return tensors["features"]
    begins, columns, values = (tensors[f"features.{part}"] for part in SPARSE_PARTS)
    return SparseRows(begins, columns, values, width)


def _tensors(features: Features) -> dict[str, Tensor]:
    if isinstance(features, SparseRows):
        return {f"features.{part}": getattr(features, part).contiguous() for part in SPARSE_PARTS}
    return {"features": features.contiguous()}
