"""What each safeguard of the default solver is worth: each is switched off alone, and the same runs are made again.

A switch changes a few lines of the solver while it runs, and nothing on disk. It is measured on

- the bank of small problems: in float64 from every start, in float32 from the first, the problems with kinks, and
  constraints that cannot be met; how many are solved (right answer, with a certificate), and the evaluations needed
  against those of the solver as it is, over the runs that both solve;
- the robust multi-task problem on data: in the product's setting and in the paper's, three seeds, a fixed number of
  evaluations; all runs of a problem begin with the same threshold and the same weights, which are kept on disk;
- with ``--tests``, files of the solver's own tests: those that fail without the safeguard.

Runs on data are chaotic: a start that differs in the sixth digit may need a quarter more or fewer evaluations. Controls
show how much: the solver as it is, from such starts. What is not clearly outside of their range is no effect.

Run: ``PYTHONPATH=src:. python benchmarks/ablation.py [--only name ...] [--bank-only]``. The data sets that are
not bundled are read from the folder that IDBPD_DATA names. Results are kept in a file; what is in it is not run again.
"""

import argparse
import itertools
import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from benchmarks.ablation_bank import BANK, Outcome, measure_bank
from benchmarks.ablation_data import CONTROLS, DATA, LARGE, PROJECT, SEEDS, SETTINGS, SMALL, Reached, Size, measure_data
from benchmarks.ablation_switches import SWITCHES, Switch, without

# What the bank has already, and what takes long and says nothing about a safeguard.
REPEATED = ("has_a_certificate", "smooth_problems", "goes_on_from_a_file", "single_precision", "absolute_errors")


class _Failures:
    """Collects the names of tests that fail."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid.split("/")[-1])


def failing_tests(file: str) -> list[str]:
    """The tests of a file that fail, in this process: with what is switched off in it."""
    failures = _Failures()
    chosen = " and ".join(f"not {part}" for part in REPEATED)
    options = ["-q", "-p", "no:cacheprovider", "--tb=no", "-r", "N", "-k", chosen]
    pytest.main([str(PROJECT / "tests" / "optim" / file), *options], plugins=[failures])
    return failures.names


class Results:
    """Everything measured so far, in a file."""

    def __init__(self, file: Path) -> None:
        """Go on with what the file has."""
        self._file = file
        self._found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def get(self, switch: str, what: str, measure: Callable[[], Any] | None = None) -> Any:
        """What was measured; measured now, if there is a way to and it was not."""
        key = f"{switch} | {what}"
        if key not in self._found and measure is not None:
            try:
                self._found[key] = measure()
            except (ArithmeticError, RuntimeError) as error:
                self._found[key] = f"{type(error).__name__}: {error}"
            print(f"  {key}: {_short(self._found[key])}", file=sys.stderr, flush=True)
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._found, indent=0))
        return self._found.get(key)


def _short(found: Any) -> str:
    if isinstance(found, dict):
        outcomes = [Outcome(*outcome) for outcome in found.values()]
        right = sum(outcome.right for outcome in outcomes)
        return f"{right} of {len(outcomes)}, {sum(outcome.evaluations for outcome in outcomes)} evaluations"
    return str(found)


BASE = "nothing"


def _bank_cell(results: Results, name: str, group: str) -> str:
    """How many are solved, and the evaluations against those of the solver as it is."""
    found, base = results.get(name, group), results.get(BASE, group)
    if not isinstance(found, dict) or not isinstance(base, dict):
        return "error" if isinstance(found, str) else ""
    ours = {run: Outcome(*outcome) for run, outcome in found.items()}
    theirs = {run: Outcome(*outcome) for run, outcome in base.items()}
    both = [run for run, outcome in ours.items() if outcome.right and theirs[run].right]
    spent, usual = (sum(some[run].evaluations for run in both) for some in (ours, theirs))
    solved = sum(outcome.right for outcome in ours.values())
    if name == BASE:
        return f"{solved} of {len(ours)}, {spent}"
    change = f"{spent / usual - 1:+.0%}" if usual else ""
    return f"{solved}, {'0 %' if spent == usual else change.replace('%', ' %')}"


class Effect(NamedTuple):
    """Of a switch on a group of runs on data, against the solver as it is."""

    runs: int
    same: int  # runs that are the same to the last digit
    near: int  # runs that come down to `NEAR`
    feasible: int  # runs with a feasible iterate
    evaluations: float  # until `NEAR`; a run that does not get there counts with all that it spent
    residual: float  # of the last iterate
    objective: float  # the lowest among feasible iterates: mean relative change where both have one


def effect(results: Results, name: str, runs: Iterable[str]) -> Effect | None:
    """The effect over those runs that were made with and without; ratios are geometric means."""
    pairs = []
    for run in runs:
        ours, base = results.get(name, run), results.get(BASE, run)
        if isinstance(ours, (list, tuple)) and isinstance(base, (list, tuple)):
            pairs.append((Reached(*ours), Reached(*base)))
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
    if found.same == found.runs:
        return f"{found.runs} the same"
    objective = "" if math.isnan(found.objective) else f", f {100 * found.objective:+.1f} %"
    if setting == "product":
        return f"{found.near} of {found.runs}, x {found.evaluations:.2f}{objective}"
    return f"{found.feasible} of {found.runs}, x {found.residual:.2f}{objective}"


def table(results: Results, names: Mapping[str, str]) -> str:
    """In Markdown, a row for each switch that was measured."""
    sizes = [f"{setting}, {size}" for size in ("small", "large") for setting in SETTINGS]
    head = ["off", "without it", *BANK, *sizes]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, description in names.items():
        cells = [_bank_cell(results, name, group) for group in BANK]
        cells += [
            _data_cell(effect(results, name, runs_on_data(setting, size)), setting)
            for size in (SMALL, LARGE)
            for setting in SETTINGS
        ]
        if any(cells):
            lines.append("| " + " | ".join([f"`{name}`", description, *cells]) + " |")
    return "\n".join(lines)


def runs_on_data(setting: str, size: Size) -> list[str]:
    """The names of the runs in a setting on data sets of a size."""
    datasets = [dataset for dataset, its_size in DATA.items() if its_size == size]
    return [f"{dataset} {setting} {seed}" for dataset, seed in itertools.product(datasets, SEEDS)]


def _groups(switch: Switch | None) -> list[str]:
    """The groups of small problems on which a switch can matter."""
    if switch is not None and switch.kinks:
        return ["kinks", "infeasible"]
    groups = [group for group in BANK if switch is None or switch.data or group != "random"]
    return [*groups, "waits"] if switch is None or switch.name == "speculative_trial" else groups


def main() -> None:
    """Measure what is asked for and print the table."""
    known = {switch.name: switch for switch in SWITCHES}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=[*known, *CONTROLS], default=[*CONTROLS, *known], metavar="name")
    parser.add_argument("--bank-only", action="store_true", help="no data sets")
    parser.add_argument("--data-only", action="store_true", help="no bank")
    parser.add_argument("--neither", action="store_true", help="tests and the table only")
    parser.add_argument("--datasets", nargs="+", choices=DATA, default=list(DATA), metavar="name")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--groups", nargs="+", choices=[*BANK, "waits"], default=[*BANK, "waits"], metavar="name")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["product", "paper"], metavar="name")
    parser.add_argument("--tests", nargs="+", default=[], metavar="file", help="which tests of these files fail, too")
    parser.add_argument("--results", type=Path, default=PROJECT / "data" / "ablation" / "results.json")
    parser.add_argument("--calibrated", type=Path, default=PROJECT / "data" / "ablation", help="folder to keep them")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    results = Results(asked.results)
    chosen: list[str] = [BASE, *asked.only]
    if not (asked.data_only or asked.neither):
        for name in (name for name in chosen if name not in CONTROLS):
            with without(known.get(name)):
                for group in (group for group in _groups(known.get(name)) if group in asked.groups):
                    results.get(name, group, partial(measure_bank, group))
    if not (asked.bank_only or asked.neither):
        for dataset, setting in itertools.product(asked.datasets, asked.settings):
            for name in (name for name in chosen if name not in known or known[name].data):
                with without(known.get(name)):
                    for seed in asked.seeds:
                        measure = partial(measure_data, dataset, setting, seed, asked.calibrated, CONTROLS.get(name))
                        results.get(name, f"{dataset} {setting} {seed}", measure)
    for name, file in itertools.product((name for name in chosen if name not in CONTROLS), asked.tests):
        with without(known.get(name)):
            results.get(name, file, partial(failing_tests, file))
    described = {BASE: "the solver as it is"} | dict.fromkeys(CONTROLS, "the solver as it is, a start changed by 1e-6")
    described |= {switch.name: switch.description for switch in SWITCHES}
    print(table(results, {name: described[name] for name in chosen}))
    for name, file in itertools.product(chosen, asked.tests):
        failed = results.get(name, file)
        if failed:
            print(f"\n`{name}`: {len(failed)} tests fail:\n" + "\n".join(f"- {test}" for test in failed))
    for name in (BASE, "speculative_trial"):
        waits = results.get(name, "waits")
        if waits:
            print(f"\nwaits for a device, `{name}` off: {sum(outcome[1] for outcome in waits.values())}")


if __name__ == "__main__":
    main()
