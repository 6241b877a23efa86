"""What was measured of each safeguard, as a table in Markdown: what is lost without it, and the smallest problem that
shows it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.ablation_bank import BANK, Outcome
from benchmarks.ablation_data import CONTROLS, DATA, LARGE, SEEDS, SETTINGS, SMALL, Reached, Size
from benchmarks.ablation_switches import Switch

Found = dict[str, Any]
BASE = "nothing"
NOTICEABLE = 0.05  # relative change of evaluations on a group; a change of start by 1e-6 makes as much
LETTERS = {
    "float64": "F",
    "float32": "f",
    "kinks": "k",
    "tensors": "t",
    "infeasible": "i",
    "random": "r",
    "bounds": "b",
    "semi_infinite": "s",
    "hidden": "h",
    "units": "u",
    "waits": "w",
}
LONGER = 1.5  # times the evaluations of a problem that shows what a safeguard is worth


def _outcomes(found: Found, name: str, group: str) -> dict[str, Outcome]:
    measured = found.get(f"{name} | {group}")
    return {} if measured is None else {run: Outcome(*outcome) for run, outcome in measured.items()}


class Change(NamedTuple):
    """Of a group of small problems without a safeguard."""

    group: str
    runs: int
    lost: int  # fewer runs are solved
    evaluations: float  # relative, over the runs that both solve
    touched: int  # runs that are another one at all


def change(found: Found, name: str, group: str) -> Change | None:
    """None where it was not measured."""
    base, ours = _outcomes(found, BASE, group), _outcomes(found, name, group)
    if not ours:
        return None
    both = [run for run in base if base[run].right and ours[run].right]
    usual, spent = (sum(some[run].evaluations for run in both) for some in (base, ours))
    lost = sum(one.right for one in base.values()) - sum(one.right for one in ours.values())
    return Change(group, len(base), lost, spent / usual - 1 if usual else 0.0, sum(base[r] != ours[r] for r in base))


def small_cells(found: Found, switch: Switch) -> list[str]:
    """The groups on which a switch was measured, by their letters, and those with a noticeable change."""
    changes = [one for group in switch.groups if (one := change(found, switch.name, group)) is not None]
    parts = []
    for one in changes:
        solved = f"{-one.lost:+d}" if one.lost else ""
        spent = f"{100 * one.evaluations:+.0f} %" if abs(one.evaluations) >= NOTICEABLE else ""
        if solved or spent:
            parts.append(" ".join(part for part in (LETTERS[one.group], solved, spent) if part))
    touched = sum(one.touched for one in changes)
    effect_seen = "; ".join(parts) or (f"{touched} runs differ a little" if touched else "none differs")
    return [" ".join(LETTERS[one.group] for one in changes), effect_seen]


def smallest(found: Found, switch: Switch) -> str:
    """The problem with the fewest variables that is not solved without the safeguard, or else takes much longer."""
    lost, longer = [], []
    for group in switch.groups:
        base, ours = _outcomes(found, BASE, group), _outcomes(found, switch.name, group)
        for run in ours:
            if not base[run].right or run not in BANK[group]:
                continue
            size, before, after = BANK[group][run].variables, base[run].evaluations, ours[run].evaluations
            name = f"{run.removesuffix('-0')} ({LETTERS[group]}, {size} variables)"
            if not ours[run].right:
                lost.append((size, before, f"{name}: not solved"))
            elif after >= LONGER * before and after >= before + 5:
                longer.append((size, -after / before, f"{name}: {before}, without {after}"))
    return min(lost or longer)[2] if lost or longer else ""


class Effect(NamedTuple):
    """Of a switch on a group of runs on data, against the solver as it is."""

    runs: int
    same: int  # runs that are the same to the last digit
    near: int  # runs that come down to `NEAR`
    feasible: int  # runs with a feasible iterate
    evaluations: float  # until `NEAR`; a run that does not get there counts with all that it spent
    residual: float  # of the last iterate
    objective: float  # the lowest among feasible iterates: mean relative change where both have one


def effect(found: Found, name: str, runs: Iterable[str]) -> Effect | None:
    """The effect over those runs that were made with and without; ratios are geometric means."""
    pairs = [
        (Reached(*found[f"{name} | {run}"]), Reached(*found[f"{BASE} | {run}"]))
        for run in runs
        if f"{name} | {run}" in found and f"{BASE} | {run}" in found
    ]
    if not pairs:
        return None
    objectives = [
        (one.objective - base.objective) / abs(base.objective)
        for one, base in pairs
        if one.objective is not None and base.objective is not None
    ]
    return Effect(
        len(pairs),
        sum(one == base for one, base in pairs),
        sum(one.evaluations is not None for one, _ in pairs),
        sum(one.objective is not None for one, _ in pairs),
        _ratio([(one.evaluations or one.spent, base.evaluations or base.spent) for one, base in pairs]),
        _ratio([(one.residual, base.residual) for one, base in pairs]),
        _mean(objectives),
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return math.exp(_mean([math.log(one / other) for one, other in pairs]))


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else math.nan


def _data_cell(found: Effect | None, setting: str) -> str:
    if found is None:
        return ""
    objective = "" if math.isnan(found.objective) else f", f {100 * found.objective:+.1f} %"
    if found.same == found.runs and not math.isnan(found.evaluations):
        return f"{found.runs} the same"
    if setting == "product":
        return f"{found.near} of {found.runs}, x {found.evaluations:.2f}{objective}"
    return f"{found.feasible} of {found.runs}, x {found.residual:.2f}{objective}"


def runs_on_data(setting: str, size: Size) -> list[str]:
    """The names of the runs in a setting on data sets of a size."""
    datasets = [dataset for dataset, its_size in DATA.items() if its_size == size]
    return [f"{dataset} {setting} {seed}" for dataset in datasets for seed in SEEDS]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _groups(found: Found) -> Iterator[list[str]]:
    for group in BANK:
        base = _outcomes(found, BASE, group)
        if base:
            solved, spent = sum(one.right for one in base.values()), sum(one.evaluations for one in base.values())
            yield [LETTERS[group], group.replace("_", "-"), f"{solved} of {len(base)}", str(spent)]


def _on_data(found: Found, names: Iterable[str]) -> Iterator[list[str]]:
    for name in names:
        cells = [
            _data_cell(effect(found, name, runs_on_data(setting, size)), setting)
            for size in (SMALL, LARGE)
            for setting in list(SETTINGS)[:2]
        ]
        if any(cells):
            yield [f"`{name}`", *cells]


def tables(found: Found, switches: Sequence[Switch]) -> str:
    """All that was measured, and what each switch does."""
    measured = [one for one in switches if any(f"{one.name} | {group}" in found for group in one.groups)]
    small = [[f"`{one.name}`", *small_cells(found, one), smallest(found, one)] for one in measured]
    data = list(_on_data(found, [BASE, *CONTROLS, *(one.name for one in switches if one.data)]))
    return "\n\n".join(
        [
            _table(["", "small problems", "solved", "evaluations"], _groups(found)),
            _table(["off", "on", "without it", "the smallest problem that shows it"], small),
            _table(["off", "product", "paper", "large, product", "large, paper"], data),
            "\n".join(f"- `{one.name}`: {one.description}." for one in switches),
        ]
    )
