"""Tensors on disk, in safetensors: typed, fast, and free of executable code."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset
from safetensors.torch import load_file, save_file
from torch import Tensor

from idbpd.datasets.task_file import load_tasks, save_tasks
from idbpd.datasets.tensor_stream import StreamedData
from idbpd.mtl import MultiTaskData


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
        return load_tasks(self._path)

    def save(self, data: MultiTaskData | StreamedData) -> None:
        """Save features and tasks with what they mean."""
        save_tasks(data, self._path)

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
