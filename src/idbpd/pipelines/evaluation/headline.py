"""The verdict of a run in words: what people read first, and perhaps only."""

from collections.abc import Mapping
from typing import Any

from idbpd.experiment.shown import WORST_CASE, name_of, written

RESIDUALS = ("stationarity", "infeasibility", "slackness")


def state_verdict(certificate: dict[str, Any]) -> str:
    """Whether the limits hold on unseen data, a sentence per task; and whether the solver came to an end."""
    held_out = certificate["held_out"]
    if not certificate["tasks"]:
        lines = ["No task has a limit."]
    elif held_out is None:
        lines = ["NOT SHOWN: no rows were held out, so nothing is known about unseen data."]
    else:
        share = f"{held_out['confidence']:.0%}"
        lines = [f"{record['verdict']}: {_task(task, record, share)}" for task, record in held_out["tasks"].items()]
    return "\n".join([*lines, _solver(certificate)])


def _task(task: str, record: Mapping[str, Any], confidence: str) -> str:
    """What was found about the limit of one task."""
    measure = record["measured"]
    name = WORST_CASE if measure is None else measure["name"]
    value = record["worst_case_loss"] if measure is None else measure["value"]
    bound = record["upper_bound"] if measure is None else measure["bound"]
    limit = record["reference"] if measure is None else measure["limit"]
    found = "unknown" if value is None else written(name, value)
    shown = "no bound" if bound is None else f"{written(name, bound)} with {confidence} confidence"
    numbers = f"{name_of(name)} {found}, {shown}, limit {written(name, limit)}"
    if record["verdict"] == "HOLDS":
        return f"{task} keeps its limit on unseen data ({numbers})"
    if record["verdict"] == "BROKEN":
        return f"{task} exceeds its limit on unseen data ({numbers})"
    more = f"; about {record['rows_needed']} would" if record["rows_needed"] else ""
    return f"{record['rows']} test rows do not show that {task} keeps its limit{more} ({numbers})"


def _solver(certificate: Mapping[str, Any]) -> str:
    worst = max(certificate[name] for name in RESIDUALS)
    if certificate["status"] == "CONVERGED":
        return f"The solver converged: the worst of the three KKT residuals is {worst:.1e}."
    ending = f"{certificate['status']} ({certificate['reason']})"
    return f"The solver ended with {ending}; the worst of the three KKT residuals is {worst:.1e}."
