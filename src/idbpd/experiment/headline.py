"""The verdict of a run in words: what people read first, and perhaps only."""

from collections.abc import Mapping
from typing import Any

from idbpd.experiment.limits.thresholds import GUESSING
from idbpd.experiment.shown import name_of, written
from idbpd.mtl.chance import WORST_CASE

MAIN_MEASURES = ("accuracy", "hit_rate", "mae", "roc_auc")  # the first that a task has
RESIDUALS = ("stationarity", "infeasibility", "slackness")


def state_verdict(certificate: dict[str, Any], quality: dict[str, float]) -> str:
    """How good the priority task is, whether the limits hold on unseen data, and whether the solver converged."""
    held_out = certificate["held_out"]
    if not certificate["tasks"]:
        lines = ["No task has a limit."]
    elif held_out is None:
        lines = ["NOT SHOWN: no rows were held out, so nothing is known about unseen data."]
    else:
        share = f"{held_out['confidence']:.0%}"
        lines = [
            f"{record['verdict']}: {_task(task, record, share)}{_guessed(record, held_out['guesses'].get(task))}"
            for task, record in held_out["tasks"].items()
        ]
    return "\n".join([_priority(certificate, quality), *lines, _solver(certificate)])


def overview(certificate: dict[str, Any], quality: dict[str, float]) -> dict[str, Any]:
    """The few values by which runs are told apart: the verdict, what was reached, and how much of a limit is used.

    A limit is kept on unseen data where ``limits/<task>`` is at most 1: it is the bound as a share of the limit.
    """
    held_out = certificate["held_out"]
    part = "train" if held_out is None else "test"
    values: dict[str, Any] = {
        "verdict": "NOT SHOWN" if held_out is None else held_out["verdict"],
        "solver/objective": certificate["objective"],
        "solver/residual": max(certificate[name] for name in RESIDUALS),
    }
    for task, record in ({} if held_out is None else held_out["tasks"]).items():
        if record["upper_bound"] is not None and record["reference"] > 0:
            values[f"limits/{task}"] = record["upper_bound"] / record["reference"]
    for task in certificate["protects"]:
        known = _main_measure(task, part, quality)
        if known is not None:
            values[f"{part}/{task} {known}"] = quality[f"{part}_{task}_{known}"]
    return values


def found_of_priority(held_out: Mapping[str, Any] | None, task: str, measured: Mapping[str, float]) -> str:
    """How good the model is in what matters most; ``measured`` has its measures on the part that counts, by name."""
    known = next((name for name in MAIN_MEASURES if name in measured), None)
    first = "" if known is None else f"{name_of(known)} {written(known, measured[known])}, "
    loss = measured[WORST_CASE]
    found = f"{first}{name_of(WORST_CASE)} {written(WORST_CASE, loss)}"
    if held_out is None:
        return found
    guess = held_out["guesses"][task]
    if not loss <= GUESSING * guess:
        return f"{found}, NO BETTER than a constant guess ({written(WORST_CASE, guess)})"
    return f"{found}, {1 - loss / guess:.0%} below that of a constant guess"


def _priority(certificate: Mapping[str, Any], quality: Mapping[str, float]) -> str:
    held_out = certificate["held_out"]
    part, where = ("train", "the training data") if held_out is None else ("test", "unseen data")
    task = next(name for name in certificate["protects"] if name not in certificate["tasks"])
    prefix = f"{part}_{task}_"
    names = [name for name in (*MAIN_MEASURES, WORST_CASE) if prefix + name in quality]
    return f"PRIORITY: {task} on {where}: " + found_of_priority(
        held_out, task, {name: quality[prefix + name] for name in names}
    )


def _main_measure(task: str, part: str, quality: Mapping[str, float]) -> str | None:
    return next((name for name in MAIN_MEASURES if f"{part}_{task}_{name}" in quality), None)


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


def _guessed(record: Mapping[str, Any], guess: float | None) -> str:
    """That a limit holds says nothing where the model made for the task alone is no better than a guess."""
    if guess is None or record["worst_case_loss"] <= GUESSING * guess:
        return ""
    own = "" if record["measured"] is None else f"worst-case loss {written(WORST_CASE, record['worst_case_loss'])}, "
    return f", {own}NO BETTER than a constant guess ({written(WORST_CASE, guess)})"


def _solver(certificate: Mapping[str, Any]) -> str:
    worst = max(certificate[name] for name in RESIDUALS)
    if certificate["status"] == "CONVERGED":
        return f"The solver converged: the worst of the three KKT residuals is {worst:.1e}."
    ending = f"{certificate['status']} ({certificate['reason']})"
    return f"The solver ended with {ending}; the worst of the three KKT residuals is {worst:.1e}."
