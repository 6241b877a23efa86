"""How results become entries of an MLflow run."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

# A point takes MLflow a tenth of a millisecond, whatever the size of a batch: six metrics of every step would take as
# long as a twentieth of a quick training. The whole history is an artifact; a page of MLflow shows 320 points of it.
TRACKED_STEPS = 3000


class Content(NamedTuple):
    """The kind of an entry, and what it says."""

    kind: str
    content: dict[str, Any]


def history(frame: pd.DataFrame) -> Content:
    """Every column but ``step`` as a metric with its value at each step; what is not finite is left out.

    Of a history with more than `TRACKED_STEPS` steps every second, third ... step is taken, and the last.
    """
    series = {}
    stride = math.ceil(len(frame) / TRACKED_STEPS) or 1
    taken = frame.index.isin(frame.index[::stride]) | (frame.index == frame.index.max())
    frame = frame[taken]
    for name in frame.columns.drop("step"):
        finite = frame[["step", name]].replace([math.inf, -math.inf], math.nan).dropna()
        series[name] = {"step": finite["step"].astype(int).tolist(), "value": finite[name].astype(float).tolist()}
    return Content("metrics", {"time": _now(), "series": series})


def metrics(values: Mapping[str, float]) -> Content:
    """Each value as a metric; what is not finite is left out."""
    finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
    series = {name: {"step": [0], "value": [value]} for name, value in finite.items()}
    return Content("metrics", {"time": _now(), "series": series})


def final_metrics(values: Mapping[str, float]) -> Content:
    """Each value as a metric with the prefix ``final_``: what the returned model has, not what a step had."""
    return metrics({f"final_{name}": value for name, value in values.items()})


def parameters(values: Mapping[str, Any]) -> Content:
    """Each value as a parameter, nested blocks flattened with dots."""
    return Content("params", {name: str(value) for name, value in flatten(values).items()})


def tags(values: Mapping[str, Any]) -> Content:
    """Each value as a tag."""
    return Content("tags", {name: str(value) for name, value in values.items()})


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


def _now() -> int:
    return int(time.time() * 1000)


ENTRIES: dict[str, Callable[[Any], Content]] = {
    "history": history,
    "metrics": metrics,
    "final_metrics": final_metrics,
    "parameters": parameters,
    "tags": tags,
}
