"""Log the data that a run reads as inputs of its MLflow run."""

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from idbpd.datasets import AtomicDataset
from idbpd.mtl import MultiTaskData
from idbpd.tracking.runs import EXECUTION_VARIABLE, track

# The width of MLflow's column; the full SHA-256 is a tag of the input.
DIGEST_LENGTH = 36


class TrackedInputDataset(AtomicDataset):
    """Multi-task data; loading the file logs it as an input of the child run ``run``.

    ```yaml
    train:
      type: idbpd.tracking.TrackedInputDataset
      dataset: {type: idbpd.datasets.MultiTaskDataset, filepath: data/05_model_input/train.safetensors}
      run: {dataset: multi_digits, method: idbpd, seed: 0}
      context: training # the purpose of the data, shown in MLflow
    ```
    """

    def __init__(
        self, *, dataset: dict[str, Any], run: dict[str, Any], context: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Set the run and the purpose of the data."""
        super().__init__(dataset=dataset, metadata=metadata)
        self._run = run
        self._context = context
        self._logged: tuple[str | None, str] | None = None

    def load(self) -> MultiTaskData:
        """Load the data and log them as an input, once for an execution: most nodes load the same file."""
        data: MultiTaskData = super().load()
        status = self.path.stat()
        sha256 = _sha256(self.path, status.st_mtime_ns, status.st_size)
        logged = (os.environ.get(EXECUTION_VARIABLE), sha256)
        if logged == self._logged:
            return data
        profile = {
            "rows": len(data.features),
            "features": data.features.shape[1],
            "tasks": {task.name: {"rows": task.size, "labels": len(task.labels)} for task in data.tasks},
        }
        dataset = {
            "name": f"{self._run['dataset']} {self.path.stem}",
            "digest": sha256[:DIGEST_LENGTH],
            "source_type": "local",  # MLflow's name for a local file
            "source": json.dumps({"uri": self.path.as_posix()}),
            "profile": json.dumps(profile),
        }
        tags = {"mlflow.data.context": self._context, "sha256": sha256}
        track(self._run, "input", {"dataset": dataset, "tags": tags})
        self._logged = logged
        return data


@lru_cache(maxsize=16)
def _sha256(path: Path, changed: int, size: int) -> str:  # noqa: ARG001 - a changed file must not hit the cache
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
