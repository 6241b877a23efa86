"""The trained model as an MLflow model."""

from importlib.metadata import version
from typing import Any

import mlflow
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from torch import Tensor, nn

from idbpd.tracking.runs import child_run


class TrackedModelDataset(AbstractDataset[tuple[nn.Module, Tensor], str]):
    """Logs a network, with a few rows of features as its example, to the child run that ``run`` names.

    It keeps no file of its own: the weights are a dataset already, and MLflow keeps the model.
    """

    def __init__(self, *, run: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Name the run."""
        self._run = run
        self.metadata = metadata

    def save(self, data: tuple[nn.Module, Tensor]) -> None:
        """Log the model; MLflow stores it as an exported program, which can be loaded without this project's code."""
        run_id = child_run(self._run)
        if run_id is None:
            return
        network, example = data
        with mlflow.start_run(run_id=run_id):
            mlflow.pytorch.log_model(
                network.eval(),
                name="model",
                input_example=example.numpy(),
                # Named here because finding them out would take ten seconds.
                pip_requirements=[_requirement(package) for package in ("torch", "numpy", "mlflow")],
            )

    def load(self) -> str:
        """The id of the logged model: what MLflow loads it by."""
        run_id = child_run(self._run)
        if run_id is None:
            raise DatasetError("no model was logged: nothing is tracked here")
        outputs = MlflowClient().get_run(run_id).outputs
        if outputs is None or not outputs.model_outputs:
            raise DatasetError(f"no model was logged to run {run_id}")
        return str(outputs.model_outputs[-1].model_id)

    def _describe(self) -> dict[str, Any]:
        return dict(self._run)


def _requirement(package: str) -> str:
    """The installed version, without the local part that tells a CPU build from others."""
    return f"{package}=={version(package).partition('+')[0]}"
