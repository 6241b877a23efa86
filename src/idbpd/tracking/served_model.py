"""The code of a served model: raw features in, label probabilities of every task out.

A copy of this file travels inside every exported model, and MLflow runs the copy wherever the model is served. So it
imports nothing of this project, and needs neither torch nor a pickle: the weights are a safetensors file.
"""

import json
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel, PythonModelContext
from numpy.typing import NDArray
from safetensors import safe_open

WEIGHTS = "weights"  # the artifact with the tensors; its metadata name the features and the labels


class ServedModel(PythonModel):
    """Checks what it is asked about, scales it, and answers with a column ``task:label`` for each label."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the weights and the names."""
        with safe_open(context.artifacts[WEIGHTS], framework="np") as file:
            self._tensors: dict[str, NDArray[Any]] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            names = file.metadata()
        self._features: list[str] = json.loads(names["features"])
        self._tasks: dict[str, list[str]] = json.loads(names["tasks"])

    def predict(self, context: PythonModelContext, model_input: pd.DataFrame) -> pd.DataFrame:  # type: ignore[override]  # noqa: ARG002
        """One row of probabilities per row of features; each task's part sums to one."""
        return self._probabilities(self._checked(model_input))

    def _checked(self, data: Any) -> NDArray[Any]:
        frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(data, columns=self._features)
        unknown = [str(name) for name in frame.columns if name not in set(self._features)]
        if unknown:
            raise _refused(
                f"the model has {len(self._features)} features, the request has {len(frame.columns)} columns; "
                f"not known: {', '.join(unknown[:5])}"
            )
        values = frame[self._features].to_numpy(self._tensors["scaling.center"].dtype)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise _refused(
                f"row {row + 1}: feature {self._features[column]!r} is missing or not finite; features must be numbers"
            )
        return values

    def _probabilities(self, features: NDArray[Any]) -> pd.DataFrame:
        scaled = (features - self._tensors["scaling.center"]) / self._tensors["scaling.scale"]
        shared = np.tanh(scaled @ self._tensors["network.trunk.weight"].T + self._tensors["network.trunk.bias"])
        columns: dict[str, NDArray[Any]] = {}
        for at, (task, labels) in enumerate(self._tasks.items()):
            head = f"network.heads.task.{at}"
            logits = shared @ self._tensors[f"{head}.weight"].T + self._tensors[f"{head}.bias"]
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares = (odds / odds.sum(axis=1, keepdims=True)).astype(np.float64)
            columns |= {f"{task}:{label}": shares[:, index] for index, label in enumerate(labels)}
        return pd.DataFrame(columns)


def _refused(message: str) -> MlflowException:
    """What a server answers with the status 400."""
    return MlflowException(message, error_code=BAD_REQUEST)


set_model(ServedModel())
