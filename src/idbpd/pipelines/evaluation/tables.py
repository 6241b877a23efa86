"""What was measured, as tables: a short one for the end of a run, and two complete ones."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from idbpd.mtl import TaskQuality

# Quality by model, part of the data ("train", "test") and task.
Measured = Mapping[str, Mapping[str, Mapping[str, TaskQuality]]]

OWN = "constrained"  # the model that a run is about


def comparison_table(measured: Measured) -> pd.DataFrame:
    """The quality of every model on every part and task, one row each."""
    rows = [
        {"model": model, "part": part, "task": task, **_without_labels(quality)}
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
    return pd.DataFrame(rows)


def metrics(measured: Measured, certificate: Mapping[str, Any]) -> dict[str, float]:
    """The quality of the run's own model as it is tracked: ``test_<task>_hit_rate`` and so on."""
    values = {
        f"{part}_{task}_{name}": value
        for part, tasks in measured[OWN].items()
        for task, quality in tasks.items()
        for name, value in _without_labels(quality).items()
    }
    held_out, tasks = certificate["held_out"], certificate["tasks"]
    if held_out is not None:
        values["test_constraint_holds"] = float(held_out["holds"])
        for task, record in held_out["tasks"].items():
            values[f"test_{task}_upper_bound"] = record["upper_bound"]
            if len(tasks) > 1:
                values[f"test_{task}_holds"] = float(record["holds"])
    if len(tasks) > 1:
        for task, record in tasks.items():
            values[f"final_constraint_{task}"] = record["constraint"]
            values[f"final_multiplier_{task}"] = record["multiplier"]
    return values


def summary_table(measured: Measured, certificate: Mapping[str, Any]) -> pd.DataFrame:
    """The most important numbers, a column per model, with the limits and whether the run's own model keeps them."""
    limits = {task: record["threshold"] for task, record in certificate["tasks"].items()}
    held_out = certificate["held_out"]
    part = "train" if held_out is None else "test"
    suffix = "" if held_out is None else ", test"
    rows: dict[str, dict[str, str]] = {}
    for task in measured[OWN]["train"]:
        rows[f"{task}: worst-case loss"] = _row(measured, "train", task, "worst_case_loss", "{:.4f}")
        if task in limits:
            own = measured[OWN]["train"][task].worst_case_loss
            rows[f"{task}: worst-case loss"]["limit"] = (
                f"{limits[task]:.4f} {'kept' if _keeps(own, limits[task]) else 'BROKEN'}"
            )
    for task in limits if held_out is not None else ():
        found = held_out["tasks"][task]
        rows[f"{task}: the same, test"] = _row(measured, "test", task, "worst_case_loss", "{:.4f}")
        rows[f"{task}: the same, test"]["limit"] = f"{limits[task]:.4f} {'kept' if found['holds'] else 'BROKEN'}"
        answer = "yes" if found["holds"] else "no"
        rows[f"{task}: holds on unseen data"] = {OWN: f"{answer}, bound {found['upper_bound']:.4f}"}
    for task in measured[OWN]["train"]:
        rows[f"{task}: hit rate{suffix}"] = _row(measured, part, task, "hit_rate", "{:.1%}")
    for residual in ("stationarity", "infeasibility", "slackness"):
        rows[residual] = {OWN: f"{certificate[residual]:.1e}"}
    rows["solver"] = {OWN: certificate["status"]}
    columns = [OWN, "limit", *(model for model in measured if model != OWN)]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).fillna("")
    return table.rename_axis("task: what").reset_index()


def _row(measured: Measured, part: str, task: str, name: str, form: str) -> dict[str, str]:
    return {model: form.format(getattr(parts[part][task], name)) for model, parts in measured.items()}


def _keeps(loss: float, limit: float) -> bool:
    """Whether a solver kept a limit, up to the digits that are shown."""
    return loss <= limit + 5e-5


def _without_labels(quality: TaskQuality) -> dict[str, float]:
    return {name: value for name, value in quality._asdict().items() if name != "labels"}
