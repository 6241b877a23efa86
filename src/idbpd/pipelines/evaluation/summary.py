"""The most important numbers of a run on one small table."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from idbpd.experiment.shown import name_of, written, written_of
from idbpd.mtl import HEADLINE
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.evaluation.tables import OWN, Measured, keeps, priority_of

WHAT, LIMIT = "task: what", "limit"
RESIDUALS = ("stationarity", "infeasibility", "slackness")
Rows = dict[str, dict[str, str]]  # cells by column, by what the row is about


def summary_table(measured: Measured, certificate: Mapping[str, Any]) -> pd.DataFrame:
    """The priority task, then every task with a limit, then the certificate; a column per model.

    Where a model was not trained for a task, its cells are empty. Without held-out data all is about the training data.
    """
    priority = priority_of(measured, certificate)
    rows: Rows = {f"{priority}: worst-case loss": _cells(measured, "train", priority, WORST_CASE)}
    if certificate["held_out"] is not None:
        rows[f"{priority}: the same, test"] = _cells(measured, "test", priority, WORST_CASE)
    rows |= _headlines(measured, certificate, priority)
    for task in certificate["tasks"]:
        rows |= _limited(measured, certificate, task)
    for residual in RESIDUALS:
        rows[residual] = {OWN: f"{certificate[residual]:.1e}"}
    rows["solver"] = {OWN: certificate["status"]}
    columns = [OWN, LIMIT, *(model for model in measured if model != OWN)]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).fillna("")
    return table.rename_axis(WHAT).reset_index()


def _limited(measured: Measured, certificate: Mapping[str, Any], task: str) -> Rows:
    """The rows of a task that keeps a limit."""
    limit, held_out = certificate["tasks"][task]["threshold"], certificate["held_out"]
    own = measured[OWN]["train"][task].worst_case_loss
    rows: Rows = {f"{task}: worst-case loss": _cells(measured, "train", task, WORST_CASE)}
    # A run that has converged keeps its limits to the tolerance, which may be coarser than the digits.
    rows[f"{task}: worst-case loss"][LIMIT] = _judged(limit, keeps(own, limit) or certificate["status"] == "CONVERGED")
    if held_out is not None:
        found = held_out["tasks"][task]
        measure = found["measured"]
        rows[f"{task}: the same, test"] = _cells(measured, "test", task, WORST_CASE)
        if measure is None:
            judged, bound = f"{task}: the same, test", found["upper_bound"]
            rows[judged][LIMIT] = f"{found['reference']:.4f} {found['verdict']}"
            shown = "unknown" if bound is None else f"{bound:.4f}"
        else:
            name, bound = measure["name"], measure["bound"]
            judged = f"{task}: {name_of(name)}, test"
            rows[judged] = _cells(measured, "test", task, name)
            rows[judged][LIMIT] = f"{written(name, measure['limit'])} {found['verdict']}"
            shown = "unknown" if bound is None else written(name, bound)
        rows[f"{task}: its bound, test"] = {
            OWN: shown,
            LIMIT: f"needs {found['rows_needed']} rows" if found["rows_needed"] else "",
        }
    return rows | {what: cells for what, cells in _headlines(measured, certificate, task).items() if what not in rows}


def _judged(limit: float, kept: bool) -> str:
    return f"{limit:.4f} {'kept' if kept else 'BROKEN'}"


def _headlines(measured: Measured, certificate: Mapping[str, Any], task: str) -> Rows:
    part, suffix = ("train", "") if certificate["held_out"] is None else ("test", ", test")
    kind = measured[OWN][part][task].kind
    return {f"{task}: {name_of(name)}{suffix}": _cells(measured, part, task, name) for name in HEADLINE[kind]}


def _cells(measured: Measured, part: str, task: str, measure: str) -> dict[str, str]:
    return {
        model: written_of(parts[part][task], measure)
        for model, parts in measured.items()
        if task in parts.get(part, {})
    }
