"""Save the trained model as an MLflow model."""

import json
import os
import shutil
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, Schema
from mlflow.types.schema import AnyType
from safetensors.torch import save_file

from idbpd.datasets.partial import partial_path, replacing, temporary_folder
from idbpd.experiment.features import encoding
from idbpd.mtl import AnsweredTask, ExportedModel
from idbpd.tracking.model_files import COMPILED, WHY_COMPILED, model_tags
from idbpd.tracking.network_code import network_code
from idbpd.tracking.runs import child_run, track

# Copies of these files, with the network's code appended, become part of the model. The second is not imported here.
ENCODING = Path(encoding.__file__)
SERVED_MODEL = Path(__file__).with_name("served_model.py")
ADDRESS_TAG = "model_uri"  # tag of a run: the address of its model in the store
ANYTHING = AnyType()  # type: ignore[no-untyped-call]
REQUIREMENTS = ("mlflow", "numpy", "pandas", "safetensors", "torch")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")


class TrackedModelDataset(AbstractDataset[ExportedModel, str]):
    """Saves a model as a folder for ``mlflow models serve``, and logs it to the child run ``run``.

    The folder has the weights in safetensors, the encoding and the tasks in JSON and the network as code, and no
    pickle. A file next to it has the SHA-256 of its files, which are also tags of the run and of the logged model.

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
        partial = partial_path(self._path)
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
    network = network_code(model.network, model.features)
    description = {
        "tensors": list(network.tensors),
        "dtype": str(model.features.dtype).removeprefix("torch."),
        "identifiers": model.identifiers,
        "tasks": [{"name": task.name, "outputs": task.outputs, **asdict(task.meaning)} for task in model.tasks],
        "encoding": model.encoding,
    }
    with temporary_folder() as temporary:
        weights, code = Path(temporary) / "weights.safetensors", Path(temporary) / SERVED_MODEL.name
        described = Path(temporary) / "description.json"
        save_file(network.tensors, weights)
        described.write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
        sources = [file.read_text(encoding="utf-8") for file in (ENCODING, SERVED_MODEL)]
        last = "set_model(ServedModel(forward, encode))\n"
        code.write_text("\n\n".join([*sources, network.source, last]), encoding="utf-8")
        mlflow.pyfunc.save_model(
            folder,
            python_model=str(code),
            artifacts={"weights": str(weights), "description": str(described)},
            signature=ModelSignature(_inputs(model), _outputs(model)),
            input_example=pd.DataFrame(list(model.example), columns=list(model.encoding["columns"])),
            # Listed here because MLflow needs ten seconds to infer them. The build of torch (+cpu) is left out.
            pip_requirements=[f"{package}=={version(package).partition('+')[0]}" for package in REQUIREMENTS],
        )
    (folder / COMPILED).write_text(WHY_COMPILED, encoding="utf-8")


def _inputs(model: ExportedModel) -> Schema:
    """Every column may be away and may hold anything.

    MLflow would otherwise refuse a whole request for a null, a text or a whole number in a column of numbers. Columns
    that it does not know it takes out, so the identifiers are listed too.
    """
    names = [*model.identifiers, *model.encoding["columns"]]
    return Schema([ColSpec(ANYTHING, name, required=False) for name in names])


def _outputs(model: ExportedModel) -> Schema:
    answers = {name: _type(task, name) for task in model.tasks for name in task.columns}
    repeated = [ColSpec(ANYTHING, name, required=False) for name in model.identifiers if name not in answers]
    columns = {**answers, "replaced": DataType.string}
    return Schema([*repeated, *(ColSpec(kind, name) for name, kind in columns.items())])


def _type(task: AnsweredTask, column: str) -> DataType:
    return DataType.double if column in task.output_columns else DataType.string
