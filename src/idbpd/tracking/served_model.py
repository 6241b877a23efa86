"""The code of a served model: raw columns of a table in, answers to every task out.

Every exported model contains a copy of this file, after a copy of `idbpd.experiment.features.encoding` and with the
network's code appended. MLflow runs the copy to serve the model. Therefore this file imports nothing of this project.
The weights are in safetensors, everything else is in JSON; no pickle is read.
"""

import json
from collections.abc import Callable, Mapping
from math import inf, nan  # noqa: F401 - the network below may use them
from pathlib import Path
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

REPLACED = "replaced"
NAMES_SHOWN = 30


class ServedModel(PythonModel):
    """Encodes the columns, asks the network, and answers in the words and units of the tasks.

    For each task there is its value (``income``: a class or a number), the probability of each output
    (``income:>50K``), or both. Identifiers come first. The last column says what had to be replaced in a row.
    """

    def __init__(self, forward: Callable[..., tuple[Tensor]], encode: Callable[[pd.DataFrame, Any], Any]) -> None:
        """Take the network, a function of its tensors and the features; and the encoding of columns to features."""
        self._forward = forward
        self._encode = encode

    def load_context(self, context: PythonModelContext) -> None:
        """Load the tensors, the encoding and the meaning of the outputs."""
        self.description: dict[str, Any] = json.loads(Path(context.artifacts["description"]).read_text("utf-8"))
        with safe_open(context.artifacts["weights"], framework="pt") as file:
            self._tensors = [file.get_tensor(name) for name in self.description["tensors"]]
        self._dtype = getattr(torch, self.description["dtype"])

    def predict(self, context: PythonModelContext, model_input: pd.DataFrame) -> pd.DataFrame:  # type: ignore[override]  # noqa: ARG002
        """One row of answers per row; columns may come in any order, and may have gaps or be away."""
        encoding = self.description["encoding"]
        if not set(encoding["columns"]) & set(model_input.columns):
            # The server responds with status 400.
            raise MlflowException(
                f"none of the model's columns is given; it takes {_listed(encoding['columns'])}", error_code=BAD_REQUEST
            )
        encoded = self._encode(model_input, encoding)
        with torch.inference_mode():
            (outputs,) = self._forward(None, *self._tensors, torch.tensor(encoded.matrix, dtype=self._dtype))
        identifiers = [name for name in self.description["identifiers"] if name in model_input]
        answers: dict[str, Any] = {name: _repeated(model_input[name]) for name in identifiers}
        begin, values = 0, outputs.double().numpy()
        for task in self.description["tasks"]:
            end = begin + len(task["outputs"])
            answers |= _answers(task, values[:, begin:end])
            begin = end
        return pd.DataFrame({**answers, REPLACED: encoded.replaced}, index=model_input.index)


def _repeated(cells: "pd.Series[Any]") -> "pd.Series[Any]":
    """Identifiers as they were given: pandas has turned null into NaN, and whole numbers beside it into floats."""
    given = cells.astype(object).where(cells.notna(), None).tolist()
    whole = [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in given]
    return pd.Series(whole, index=cells.index, dtype=object)


def _answers(task: Mapping[str, Any], values: NDArray[np.float64]) -> dict[str, Any]:
    """The columns of one task, from the numbers that the network gives for its outputs."""
    name, outputs = task["name"], task["outputs"]
    if task["kind"] == "number":
        return {name: task["center"] + task["scale"] * values[:, 0]}
    probabilities = {f"{name}:{output}": values[:, at] for at, output in enumerate(outputs)}
    if task["kind"] == "binary":
        likely = np.where(values[:, 0] >= 0.5, 0, 1)
        return {name: np.array([outputs[0], task["other"]], dtype=object)[likely], **probabilities}
    if task["kind"] == "classes":
        return {name: np.array(outputs, dtype=object)[values.argmax(axis=1)], **probabilities}
    return probabilities


def _listed(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
