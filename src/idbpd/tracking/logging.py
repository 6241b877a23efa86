"""Convert results to entries of an MLflow run."""

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

# MLflow needs 0.1 ms per point, for any batch size: six metrics at every step would cost 5 % of a quick training. The
# complete history is an artifact, and MLflow's page shows only 320 points.
TRACKED_STEPS = 3000
MLFLOW_NOTE = "mlflow.note.content"


class Content(NamedTuple):
    """The kind and the content of an entry."""

    kind: str
    content: dict[str, Any]


def history(frame: pd.DataFrame) -> Content:
    """Every column except ``step`` as a metric by step, without values that are not finite.

    A history with more than `TRACKED_STEPS` steps is thinned evenly; its last step is always included.
    """
    series = {}
    stride = math.ceil(len(frame) / TRACKED_STEPS) or 1
    taken = frame.index.isin(frame.index[::stride]) | (frame.index == frame.index.max())
    frame = frame[taken]
    for name in frame.columns.drop("step"):
        finite = frame[["step", name]].replace([math.inf, -math.inf], math.nan).dropna()
        series[name] = {"step": finite["step"].astype(int).tolist(), "value": finite[name].astype(float).tolist()}
    return Content("metrics", {"time": _now(), "series": series})


def metrics(values: Mapping[str, Any]) -> Content:
    """Each value as a metric, without those that are no finite numbers."""
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    series = {name: {"step": [0], "value": [value]} for name, value in finite.items()}
    return Content("metrics", {"time": _now(), "series": series})


def final_metrics(values: Mapping[str, float]) -> Content:
    """Each value as a metric with the prefix ``final_``: the values of the returned model."""
    return metrics({f"final_{name}": value for name, value in values.items()})


def parameters(values: Mapping[str, Any]) -> Content:
    """Each value as a parameter; nested blocks become dotted names."""
    return Content("params", {name: str(value) for name, value in flatten(values).items()})


def tags(values: Mapping[str, Any]) -> Content:
    """Each value as a tag."""
    return Content("tags", {name: str(value) for name, value in values.items()})


def description(text: str) -> Content:
    """A text as the description that MLflow's page shows above everything else."""
    return Content("tags", {MLFLOW_NOTE: text})


def table_for_page(frame: pd.DataFrame, file: str, *, first: bool) -> Content:
    """A table as MLflow's page shows it: a JSON file of columns and rows, which a tag of the run names."""
    rows = json.loads(frame.to_json(orient="split", index=False))
    return Content("table", {"file": file, "table": rows, "first": first})


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested blocks; names are joined with dots.

    >>> flatten({"seed": 0, "model": {"hidden": 100}})
    {'seed': 0, 'model.hidden': 100}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _now() -> int:
    return int(time.time() * 1000)


ENTRIES: dict[str, Callable[[Any], Content]] = {
    "history": history,
    "metrics": metrics,
    "final_metrics": final_metrics,
    "parameters": parameters,
    "tags": tags,
    "description": description,
}
