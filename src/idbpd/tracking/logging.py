"""How results become entries of an MLflow run."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag

# One call per point takes a minute for ten thousand points on SQLite; a thousand points a call take a second.
BATCH = 1000


def log_history(run_id: str, history: pd.DataFrame) -> None:
    """Every column but ``step`` as a metric with its value at each step; what is not finite is left out."""
    now = int(time.time() * 1000)
    steps = history["step"].to_numpy()
    points = [
        Metric(name, float(value), now, int(step))
        for name in history.columns.drop("step")
        for step, value in zip(steps, history[name], strict=True)
        if math.isfinite(value)
    ]
    client = MlflowClient()
    for begin in range(0, len(points), BATCH):
        client.log_batch(run_id, metrics=points[begin : begin + BATCH])


def log_metrics(run_id: str, values: Mapping[str, float]) -> None:
    """Each value as a metric."""
    now = int(time.time() * 1000)
    metrics = [Metric(name, float(value), now, 0) for name, value in values.items() if math.isfinite(value)]
    MlflowClient().log_batch(run_id, metrics=metrics)


def log_final_metrics(run_id: str, values: Mapping[str, float]) -> None:
    """Each value as a metric with the prefix ``final_``: what the returned model has, not what a step had."""
    log_metrics(run_id, {f"final_{name}": value for name, value in values.items()})


def log_parameters(run_id: str, values: Mapping[str, Any]) -> None:
    """Each value as a parameter, nested blocks flattened with dots."""
    params = [Param(name, str(value)) for name, value in flatten(values).items()]
    for begin in range(0, len(params), 100):
        MlflowClient().log_batch(run_id, params=params[begin : begin + 100])


def log_tags(run_id: str, values: Mapping[str, Any]) -> None:
    """Each value as a tag."""
    MlflowClient().log_batch(run_id, tags=[RunTag(name, str(value)) for name, value in values.items()])


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested blocks as one, names joined by dots.

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


LOGGERS: dict[str, Callable[[str, Any], None]] = {
    "history": log_history,
    "metrics": log_metrics,
    "final_metrics": log_final_metrics,
    "parameters": log_parameters,
    "tags": log_tags,
}
