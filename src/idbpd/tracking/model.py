"""Save the trained model as an MLflow model."""

import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema
from safetensors.torch import save_file

from idbpd.datasets.atomic import replacing
from idbpd.mtl import ExportedModel
from idbpd.tracking.model_files import model_tags
from idbpd.tracking.network_code import network_code
from idbpd.tracking.runs import child_run, track

# Not imported: a copy of this file, with the network's code appended, becomes part of the model.
SERVED_MODEL = Path(__file__).with_name("served_model.py")
ADDRESS_TAG = "model_uri"  # tag of a run: the address of its model in the store
REQUIREMENTS = ("mlflow", "numpy", "pandas", "safetensors", "torch")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")


class TrackedModelDataset(AbstractDataset[ExportedModel, str]):
    """Saves a model as a folder for ``mlflow models serve``, and logs it to the child run ``run``.

    The folder has the weights in safetensors and the network as code, and no pickle. A file next to it has the SHA-256
    of its files, which are also tags of the run and of the logged model.

    ```yaml
    model:
      type: idbpd.tracking.TrackedModelDataset
      filepath: data/06_models/multi_digits/model
      run: {dataset: multi_digits, method: idbpd, seed: 0}
    ```
    """

    def __init__(self, *, filepath: str, run: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Set the folder and the run."""
        self._path = Path(filepath)
        self._run = run
        self.metadata = metadata

    @property
    def path(self) -> Path:
        """The path of the folder."""
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
        with replacing(hash_file_of(self._path)) as file:
            file.write_text(json.dumps(tags, indent=1) + "\n", encoding="utf-8")
        content = {"name": "model", "folder": self._path.name, "tags": tags}
        track(self._run, "model", content, [self._path])

    def load(self) -> str:
        """The id of the model that this execution logged; MLflow registers and loads the model by this id."""
        run_id = child_run(self._run)
        if run_id is None:
            raise DatasetError("no model was logged: tracking is off, or the tracking store cannot be reached")
        return MlflowClient().get_run(run_id).data.tags[ADDRESS_TAG].removeprefix("models:/")

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path), **self._run}


def hash_file_of(folder: Path) -> Path:
    """The path of the file with the hashes of a model's folder."""
    return folder.with_name(f"{folder.name}.sha256.json")


def _write(model: ExportedModel, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    network = network_code(model.network, model.example)
    names = {
        "tensors": list(network.tensors),
        "features": model.features,
        "columns": model.columns,
        "dtype": str(model.example.dtype).removeprefix("torch."),
    }
    with TemporaryDirectory() as temporary:
        weights, code = Path(temporary) / "weights.safetensors", Path(temporary) / SERVED_MODEL.name
        save_file(network.tensors, weights, metadata={name: json.dumps(value) for name, value in names.items()})
        lines = (SERVED_MODEL.read_text(encoding="utf-8"), network.source, "set_model(ServedModel(forward))\n")
        code.write_text("\n\n".join(lines), encoding="utf-8")
        mlflow.pyfunc.save_model(
            folder,
            python_model=str(code),
            artifacts={"weights": str(weights)},
            signature=ModelSignature(_columns(model.features), _columns(model.columns)),
            input_example=pd.DataFrame(model.example.double().numpy(), columns=list(model.features)),
            # Listed here because MLflow needs ten seconds to infer them. The build of torch (+cpu) is left out.
            pip_requirements=[f"{package}=={version(package).partition('+')[0]}" for package in REQUIREMENTS],
        )


def _columns(names: tuple[str, ...]) -> Schema:
    return Schema([ColSpec(DataType.double, name) for name in names])
