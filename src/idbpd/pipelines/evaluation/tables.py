"""What was measured, as complete tables."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from idbpd.mtl import LabelQuality, TaskQuality

# Quality by model, part of the data ("train", "test") and task. A model need not have all parts and tasks.
Measured = Mapping[str, Mapping[str, Mapping[str, TaskQuality]]]

OWN = "constrained"  # the model that a run is about
CONSTANT = "constant guess"  # the best answers that do not look at the features


def comparison_table(measured: Measured, loss_units: Mapping[str, str]) -> pd.DataFrame:
    """The quality of every model on every part and task, one row each; a task's measures are those of its kind."""
    rows = [
        {
            "model": model,
            "part": part,
            "task": task,
            "kind": quality.kind,
            "loss_unit": loss_units.get(task, ""),
            **quality.values,
        }
        for model, parts in measured.items()
        for part, tasks in parts.items()
        for task, quality in tasks.items()
    ]
    return pd.DataFrame(rows)


def label_table(measured: Measured) -> pd.DataFrame:
    """The quality at every label, one row per model, part, task and label."""
    rows = [
        {"model": model, "part": part, "task": task, "label": label, **found._asdict()}
        for model, parts in measured.items()
        for part, tasks in parts.items()
        for task, quality in tasks.items()
        for label, found in quality.labels.items()
    ]
    columns = ["model", "part", "task", "label", *LabelQuality._fields]
    return pd.DataFrame(rows, columns=columns)


def priority_of(measured: Measured, certificate: Mapping[str, Any]) -> str:
    """The task without a limit."""
    return next(task for task in measured[OWN]["train"] if task not in certificate["tasks"])


def keeps(loss: float, limit: float) -> bool:
    """Whether a solver kept a limit, up to the digits that are shown."""
    return loss <= limit + 5e-5
