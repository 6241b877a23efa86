"""How long until the worst KKT residual is below a limit: `IDBPD()` against the methods of other libraries.

    IDBPD_DATA=/path/to/data PYTHONPATH=src:. python -m benchmarks.time_to_residual [--data NAME ...] [--seconds S]

Product: lambda 0.1, weight decay 1e-3, from the constraint task's own optimum, under 1.1 times its loss there. Paper:
lambda 1e-3, no decay, random weights, and the limit is what the constraint task reached alone. All rows of each data
set.

Methods with learning rates run with sixteen pairs of them for an eighth of the time. Of each rate of x, the pair that
came lowest then has the whole time. A cell is the best of all these runs: no method's search for its rates is counted.
Every point is judged by the multipliers that certify it best (`benchmarks.peers`). One thread, time of the processor.
What was measured is kept in a file, and is not measured again.
"""

import argparse
import itertools
import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from benchmarks.ablation_data import DATA, PROJECT, SETTINGS, prepared
from benchmarks.peers import LIMITS, Curve, DoneError, Run, Watched, idbpd, installed
from torch import Tensor, nn

from idbpd.baselines import METHODS
from idbpd.mtl import CrossEntropy, Penalty, RobustMultiTask, same_for_all, seeded_network

SECONDS = {"multi_digits": 16.0, "chd49": 8.0, "yeast": 16.0}
LARGE_SECONDS = 40.0
SCREENED = 1 / 8
ONLY = {"IPOPT": ("chd49",)}  # too slow, or too large, elsewhere
Reached = list[list[Any]]  # for each limit, seconds and evaluations, or nothing


class Case:
    """A data set in a setting: the same problem, start and limit for all methods."""

    def __init__(self, data: str, setting: str, seed: int, folder: Path) -> None:
        """Calibrate, or read from the folder what was calibrated."""
        DATA[data] = replace(DATA[data], rows=None, calibration_steps=500 if data in SECONDS else 150)
        self._known, self._setting, self._seed = prepared(data, setting, seed, folder), SETTINGS[setting], seed

    @cache  # noqa: B019 - a handful of cases, and a script
    def problem(self, dtype: torch.dtype) -> tuple[RobustMultiTask, Tensor]:
        """The problem in numbers of this kind, and where it begins."""
        train = self._known["train"].to(torch.device("cpu"), dtype)
        network = seeded_network(train.features.shape[1], 100, train.classes, seed=self._seed).to(dtype)
        if self._setting.start == "calibrated":
            network.load_state_dict({name: tensor.to(dtype) for name, tensor in self._known["weights"].items()})
        oracle = RobustMultiTask(
            network,
            train,
            objective=train.priority.name,
            thresholds=self._known["threshold"],
            criteria=same_for_all(CrossEntropy(), Penalty(self._setting.regularisation)),
            weight_decay=self._setting.weight_decay,
        )
        return oracle, nn.utils.parameters_to_vector(network.parameters()).detach()

    def curve(self, run: Run, dtype: torch.dtype, seconds: float) -> Curve:
        """One run."""
        oracle, start = self.problem(dtype)
        watched = Watched(oracle, seconds)
        try:
            run(watched, start)
        except DoneError:
            pass
        except Exception as error:  # a peer may raise what it likes; what it reached until then counts
            print(f"    ended by {type(error).__name__}: {str(error)[:100]}", flush=True)
        return watched.curve


def reached_by(curve: Curve) -> Reached:
    """When each limit was reached."""
    return [list(curve.first_below(limit) or []) for limit in LIMITS]


def best_of(runs: list[Reached]) -> Reached:
    """The soonest for each limit."""
    return [min((cell for cell in cells if cell), default=[]) for cells in zip(*runs, strict=True)]


def searched(case: Case, make: Any, dtype: torch.dtype, seconds: float) -> Reached:
    """A method with learning rates: all pairs shortly, the best of each rate of x for the whole time."""
    rates = METHODS["cooper_adam"].grid
    found: list[Reached] = []
    for primal in rates["primal_rate"]:
        short = {dual: case.curve(make(primal, dual), dtype, SCREENED * seconds) for dual in rates["dual_rate"]}
        best = min(short, key=lambda dual: min(_lasting(short[dual]), default=math.inf))
        found += [reached_by(curve) for curve in short.values()]
        found.append(reached_by(case.curve(make(primal, best), dtype, seconds)))
    return best_of(found)


def _lasting(curve: Curve) -> list[float]:
    """The residuals of the second half of a run: the first points say little about where it goes."""
    return [worst for worst in curve.worst[len(curve.worst) // 2 :] if math.isfinite(worst)]


def measured(case: Case, name: str, kind: str, run: Any, seconds: float) -> Reached:
    """A method on a case."""
    dtype = getattr(torch, kind)
    if name in ("idbpd", "PyGRANSO", "IPOPT"):
        return reached_by(case.curve(run, dtype, seconds))
    return searched(case, run, dtype, seconds)


def rows_of(found: dict[str, Reached], names: list[str], case: str) -> Iterator[str]:
    """The rows of a case: a row for each method, a column for each limit."""
    ours = found.get(f"{case} | idbpd")
    for name in names:
        reached = found.get(f"{case} | {name}")
        if reached is None or ours is None:
            continue
        cells = []
        for mine, theirs in zip(ours, reached, strict=True):
            shown = f"{theirs[0]:.2f} s, {theirs[1]}" if theirs else "-"
            cells.append(shown + (f", x {theirs[0] / mine[0]:.1f}" if theirs and mine and name != "idbpd" else ""))
        yield f"| {case} | {name} | {' | '.join(cells)} |"


def summary(found: dict[str, Reached], names: list[str], cases: list[str]) -> Iterator[str]:
    """For each peer and limit: in how many cases it was behind, and the median of the ratios where both came there."""
    for name in names[1:]:
        cells = []
        for at in range(len(LIMITS)):
            pairs = [(found[f"{case} | idbpd"][at], found[f"{case} | {name}"][at]) for case in cases
                     if f"{case} | {name}" in found]  # fmt: skip
            ahead = sum(bool(mine) and (not theirs or mine[0] < theirs[0]) for mine, theirs in pairs)
            behind = sum(bool(theirs) and (not mine or theirs[0] <= mine[0]) for mine, theirs in pairs)
            ratios = [theirs[0] / mine[0] for mine, theirs in pairs if mine and theirs]
            median = f", x {statistics.median(ratios):.1f} ({len(ratios)})" if ratios else ""
            cells.append(f"{ahead} ahead, {behind} behind{median}")
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure what is not in the file yet, and print the tables."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="NAME")
    parser.add_argument("--settings", nargs="+", choices=("product", "paper"), default=["product", "paper"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--methods", nargs="+", help="only these", metavar="NAME")
    parser.add_argument("--seconds", type=float, help="of each run, instead of what is usual for the data set")
    parser.add_argument("--results", type=Path, default=PROJECT / "data" / "peers" / "results.json")
    given = parser.parse_args()
    found: dict[str, Reached] = json.loads(given.results.read_text()) if given.results.exists() else {}
    given.results.parent.mkdir(parents=True, exist_ok=True)
    methods = [("idbpd", "float32", idbpd), *installed()]
    cases = []
    for data, setting, seed in itertools.product(given.data, given.settings, given.seeds):
        name_of_case = f"{data}, {setting}, seed {seed}"
        cases.append(name_of_case)
        wanted = [
            (name, kind, run)
            for name, kind, run in methods
            if f"{name_of_case} | {name}" not in found and data in ONLY.get(name, DATA)
            and (given.methods is None or name in given.methods)
        ]  # fmt: skip
        if not wanted:
            continue
        case = Case(data, setting, seed, given.results.parent)
        for name, kind, run in wanted:
            seconds = given.seconds or SECONDS.get(data, LARGE_SECONDS)
            found[f"{name_of_case} | {name}"] = measured(case, name, kind, run, seconds)
            given.results.write_text(json.dumps(found, indent=0))
            print(*rows_of(found, [name], name_of_case), flush=True)
    names = [name for name, *_ in methods]
    head = [f"{limit:g}" for limit in LIMITS]
    print(f"\n| case | method | {' | '.join(head)} |\n|{'---|' * (len(LIMITS) + 2)}")
    for case_name in cases:
        print(*rows_of(found, names, case_name), sep="\n")
    print(f"\n| against | {' | '.join(head)} |\n|{'---|' * (len(LIMITS) + 1)}")
    print(*summary(found, names, [case for case in cases if f"{case} | idbpd" in found]), sep="\n")


if __name__ == "__main__":
    main()
