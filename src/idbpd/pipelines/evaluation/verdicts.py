"""Plain sentences about what a reader of the numbers should not overlook."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from idbpd.experiment.limits.thresholds import GUESSING
from idbpd.experiment.shown import name_of, written, written_of
from idbpd.mtl import HEADLINE, TaskQuality, is_better
from idbpd.mtl.chance import WORST_CASE, is_surely_better
from idbpd.pipelines.evaluation.tables import CONSTANT, OWN, Measured, keeps, priority_of

COLUMNS = ("about", "verdict")
# What a sentence is about: the model is no better than a guess, another one is better, it is better than another one,
# another one breaks a limit.
GUESS, BETTER, GAIN, BROKEN = "warning", "better", "gain", "limit"


class Verdict(NamedTuple):
    """A sentence, and what it is about."""

    about: str
    sentence: str


def verdict_table(measured: Measured, certificate: Mapping[str, Any]) -> pd.DataFrame:
    """All sentences, warnings about the run's own model first."""
    sentences = (_guesses, _better, _gains, _broken)
    found = [verdict for of_kind in sentences for verdict in of_kind(measured, certificate)]
    return pd.DataFrame(found, columns=COLUMNS)


def _guesses(measured: Measured, certificate: Mapping[str, Any]) -> Iterator[Verdict]:
    """The tasks in which the run's own model is not clearly better than a constant."""
    part, where = _judged_on(certificate)
    own, found = measured[OWN][part], {}
    for task, guess in measured.get(CONSTANT, {}).get(part, {}).items():
        # Written so that a loss that is not a number is warned about too.
        if not own[task].worst_case_loss <= GUESSING * guess.worst_case_loss:
            found[_named(task, measured, certificate)] = _against(WORST_CASE, own[task], guess)
    if found:
        yield Verdict(GUESS, f"{OWN} is not clearly better than a {CONSTANT} {_joined('in', found, where)}")


def _better(measured: Measured, certificate: Mapping[str, Any]) -> Iterator[Verdict]:
    """Where another model is better beyond chance, by the worst case or by the measures that a summary shows."""
    _, where = _judged_on(certificate)
    for model in _others(measured):
        found = _surely_better(model, OWN, measured, certificate)
        if found:
            yield Verdict(BETTER, f"{model} is better {_joined('in', found, where)}")


def _gains(measured: Measured, certificate: Mapping[str, Any]) -> Iterator[Verdict]:
    """Where the run's own model is better beyond chance."""
    _, where = _judged_on(certificate)
    for model in _others(measured):
        found = _surely_better(OWN, model, measured, certificate)
        if found:
            yield Verdict(GAIN, f"{OWN} is better than {model} {_joined('in', found, where)}")


def _surely_better(one: str, other: str, measured: Measured, certificate: Mapping[str, Any]) -> dict[str, str]:
    """By task, the numbers in which a model is better than another one by more than chance."""
    part, _ = _judged_on(certificate)
    found = {}
    for task in measured[one].get(part, {}):
        theirs, own = measured[one][part][task], measured[other].get(part, {}).get(task)
        if own is None:
            continue
        better = [name for name in (*HEADLINE[own.kind], WORST_CASE) if _is_better(name, theirs, own)]
        if better:
            found[_named(task, measured, certificate)] = ", ".join(_against(name, theirs, own) for name in better)
    return found


def _broken(measured: Measured, certificate: Mapping[str, Any]) -> Iterator[Verdict]:
    """Limits that another model breaks: those on unseen data, or else those that training kept."""
    part, where = _judged_on(certificate)
    for model in _others(measured):
        found = {}
        for task, record in certificate["tasks"].items():
            quality = measured[model].get(part, {}).get(task)
            held_out = None if certificate["held_out"] is None else certificate["held_out"]["tasks"][task]
            measure = None if held_out is None else held_out["measured"]
            name = WORST_CASE if measure is None else measure["name"]
            limit = record["threshold"] if held_out is None else held_out["reference"]
            limit = limit if measure is None else measure["limit"]
            if quality is not None and _breaks(name, quality.values[name], limit):
                numbers = f"{name_of(name)} {written_of(quality, name)}, limit {written(name, limit)}"
                found[_named(task, measured, certificate)] = numbers
        if found:
            yield Verdict(BROKEN, f"{model} breaks the limit {_joined('of', found, where)}")


def _breaks(measure: str, value: float, limit: float) -> bool:
    if measure == WORST_CASE:
        return not keeps(value, limit)
    return is_better(measure, limit, value)


def _joined(word: str, found: Mapping[str, str], where: str) -> str:
    """What was found, task by task, as one end of a sentence."""
    (task, numbers), *more = found.items()
    return "; ".join([f"{word} {task} {where}: {numbers}", *(f"{word} {task}: {numbers}" for task, numbers in more)])


def _others(measured: Measured) -> Iterator[str]:
    return (model for model in measured if model not in (OWN, CONSTANT))


def _judged_on(certificate: Mapping[str, Any]) -> tuple[str, str]:
    return ("train", "on the training data") if certificate["held_out"] is None else ("test", "on unseen data")


def _named(task: str, measured: Measured, certificate: Mapping[str, Any]) -> str:
    if task != priority_of(measured, certificate):
        return f"the {task} task"
    return "the priority task" if task == "priority" else f"the priority task ({task})"


def _is_better(measure: str, theirs: TaskQuality, own: TaskQuality) -> bool:
    """Better, by more than chance, and so in the digits that are shown."""
    value, ours = theirs.values[measure], own.values[measure]
    is_shown = written(measure, value) != written(measure, ours)
    return is_shown and is_surely_better(measure, value, ours, theirs.spreads, own.spreads)


def _against(measure: str, one: TaskQuality, other: TaskQuality) -> str:
    return f"{name_of(measure)} {written_of(one, measure)} against {written_of(other, measure)}"
