"""The code of a served model: raw features in, label probabilities of every task out.

Every exported model contains a copy of this file, with the network's code appended. MLflow runs the copy to serve the
model. Therefore this file imports nothing of this project. The weights are in safetensors; no pickle is read.
"""

import json
from collections.abc import Callable
from math import inf, nan  # noqa: F401 - the network below may use them
from typing import Any

import numpy as np
import pandas as pd
import torch
from mlflow.exceptions import MlflowException
from mlflow.models import set_model  # noqa: F401 - the last line uses it
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel, PythonModelContext
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, device  # noqa: F401 - the network below may use it


class ServedModel(PythonModel):
    """Checks the features, and returns one column ``task:label`` per label."""

    def __init__(self, forward: Callable[..., tuple[Tensor]]) -> None:
        """Take the network: a function of its tensors and the features."""
        self._forward = forward

    def load_context(self, context: PythonModelContext) -> None:
        """Load the tensors and the names of features and labels."""
        with safe_open(context.artifacts["weights"], framework="pt") as file:
            names = {key: json.loads(value) for key, value in file.metadata().items()}
            self._tensors = [file.get_tensor(name) for name in names["tensors"]]
        self._features: list[str] = names["features"]
        self._columns: list[str] = names["columns"]
        self._dtype = getattr(torch, names["dtype"])

    def predict(self, context: PythonModelContext, model_input: pd.DataFrame) -> pd.DataFrame:  # type: ignore[override]  # noqa: ARG002
        """One row of probabilities per row of features; each task's part sums to one."""
        features = torch.tensor(self._checked(model_input), dtype=self._dtype)
        with torch.inference_mode():
            (probabilities,) = self._forward(None, *self._tensors, features)
        return pd.DataFrame(probabilities.double().numpy(), columns=self._columns)

    def _checked(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The values in the network's order; MLflow has already checked the column names."""
        values = frame[self._features].to_numpy(np.float64)
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            # The server responds with status 400.
            raise MlflowException(
                f"row {row + 1}: feature {self._features[column]!r} is missing or not finite; features must be numbers",
                error_code=BAD_REQUEST,
            )
        return values
