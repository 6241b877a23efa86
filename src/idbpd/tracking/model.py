"""The trained model as an MLflow model."""

import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import mlflow
import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema
from safetensors.torch import save_file

from idbpd.datasets.atomic import replacing
from idbpd.mtl import ExportedModel
from idbpd.tracking.model_files import model_tags
from idbpd.tracking.runs import track

# Not imported: MLflow runs a copy of the file where the model is served.
SERVED_MODEL = Path(__file__).with_name("served_model.py")
REQUIREMENTS = ("mlflow", "numpy", "pandas", "safetensors")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")


class TrackedModelDataset(AbstractDataset[ExportedModel, Any]):
    """Saves a model as a folder that ``mlflow models serve`` understands, and logs it to the child run ``run`` names.

    The folder has the weights in safetensors and the code that reads them; nothing in it is a pickle. Beside it stands
    a file with the SHA-256 of its files, which are tags of the run and of the logged model too.

    ```yaml
    model:
      type: idbpd.tracking.TrackedModelDataset
      filepath: data/06_models/multi_digits/model
      run: {dataset: multi_digits, method: idbpd, seed: 0}
    ```
    """

    def __init__(self, *, filepath: str, run: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Name the folder and the run."""
        self._path = Path(filepath)
        self._run = run
        self.metadata = metadata

    @property
    def path(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: ExportedModel) -> None:
        """Write the folder, then log it."""
        partial = self._path.with_name(f".partial-{os.getpid()}-{self._path.name}")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            _write(data, partial)
            shutil.rmtree(self._path, ignore_errors=True)
            partial.rename(self._path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        tags = model_tags(self._path)
        with replacing(hashes_beside(self._path)) as file:
            file.write_text(json.dumps(tags, indent=1) + "\n", encoding="utf-8")
        content = {"name": "model", "folder": self._path.name, "tags": tags}
        track(self._run, "model", content, [self._path])

    def load(self) -> NoReturn:
        """Refuse: a model is loaded from MLflow by its own address."""
        raise DatasetError("load the model from MLflow, or the weights from the catalog")

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path), **self._run}


def hashes_beside(folder: Path) -> Path:
    """The file with the hashes of a model's folder."""
    return folder.with_name(f"{folder.name}.sha256.json")


def _write(model: ExportedModel, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        weights = Path(temporary) / "weights.safetensors"
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.network.state_dict().items()}
        save_file(
            tensors, weights, metadata={"features": json.dumps(model.features), "tasks": json.dumps(dict(model.tasks))}
        )
        mlflow.pyfunc.save_model(
            folder,
            python_model=str(SERVED_MODEL),
            artifacts={"weights": str(weights)},
            signature=ModelSignature(_columns(model.features), _columns(model.columns)),
            input_example=pd.DataFrame(model.example.double().numpy(), columns=list(model.features)),
            # Named here because finding them out would take ten seconds.
            pip_requirements=[f"{package}=={version(package)}" for package in REQUIREMENTS],
        )


def _columns(names: tuple[str, ...]) -> Schema:
    return Schema([ColSpec(DataType.double, name) for name in names])
