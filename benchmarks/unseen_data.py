"""What the defaults give on unseen data: limits, priority task and time, on real tables, next to equal weights.

    python -m benchmarks.unseen_data --splits 0 1 2 3 4 --workers 2 --save runs.json
    python -m benchmarks.unseen_data --candidates share=0.8 share=0.5 penalty=0.1 --reserves 0 0.5 auto --datasets wine

For every data set, split, worst case and reserve, the steps of `kedro run`: choose the weight decay, settle the
reserve, calibrate, train under the limits, certify; and the usual model with equal weights of the mean losses. All is
measured on the test part. A line per run is printed, then a table:

- metric: the usual measure of the priority task, ours minus that of equal weights, in points (a hundredth of the
  measure; for an R2 too);
- worst: the worst-case loss of the priority task, ours divided by that of equal weights: below 1 is better;
- guess: the worst-case loss divided by that of a constant guess, the priority task and the worst limited one: below 1
  is better;
- limited: the same two numbers as *metric* and *worst*, of the limited tasks;
- limits: how many of all limits HOLD, are NOT SHOWN or are BROKEN;
- choice: the seconds of choosing weight decay and reserve, as a share of those of calibration and training.

Data sets that need published files are skipped where IDBPD_DATA does not have them.
"""

import argparse
import itertools
import json
import logging
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from benchmarks.real_tables import TABLES, table_of
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.fixed_weights import with_fixed_weights
from idbpd.experiment.limits.certify import certify
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import (
    CalibrationParameters,
    FeatureParameters,
    ModelParameters,
    ProblemSettings,
    SplitParameters,
    TrainingParameters,
    WeightDecaySearchParameters,
)
from idbpd.experiment.problem import Experiment, criteria_of, weights_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import Task, TaskQuality, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.calibration.nodes import calibrate_with_reserve, settle_reserve
from idbpd.pipelines.training.nodes import train_constrained
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay
from idbpd.pipelines.weight_decay.search import UnsettledExperiment

PROJECT = Path(__file__).parents[1]
USUAL = {"binary": "accuracy", "classes": "accuracy", "labels": "accuracy", "distribution": "hit_rate", "number": "r2"}
VERDICTS = ("HOLDS", "NOT SHOWN", "BROKEN")


class Run(NamedTuple):
    """One data set, split, worst case and reserve."""

    dataset: str
    split: int
    candidate: str
    asked: str  # the reserve: a number, or auto
    beyond_limits: float
    weight_decay: float
    metric: float
    metric_equal: float
    worst: float
    guess: float  # of the priority task
    guess_limited: float  # the largest of the limited tasks
    limited: float  # their usual measures, ours minus those of equal weights, the mean
    worst_limited: float  # their worst-case losses divided by those of equal weights, the mean
    verdicts: dict[str, str]  # by limited task
    ratios: dict[str, float]  # by limited task: the worst-case loss divided by its limit
    reserves: dict[str, float]
    status: str
    choosing: float  # seconds
    solving: float

    @property
    def kind(self) -> tuple[str, str, str]:
        """What was varied."""
        return (self.candidate, self.asked, f"{self.beyond_limits:g}")

    @property
    def verdict(self) -> str:
        """Over all limits of the run."""
        return max(self.verdicts.values(), key=VERDICTS.index)


def parameters() -> dict[str, Any]:
    """All defaults of the project."""
    found: dict[str, Any] = {}
    for path in sorted((PROJECT / "conf/base").glob("parameters*.yml")):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def measure(dataset: str, split_seed: int, candidate: str, reserve: str, beyond: float, rows: int, steps: int) -> Run:
    """Train and judge with one worst case and reserve."""
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    table, given = sampled(table_of(dataset), rows), parameters()
    problem_settings = ProblemSettings.model_validate(
        {**given["problem"], **candidate_of(candidate), "beyond_limits": beyond}
    )
    model, compute = ModelParameters(**given["model"]), ComputeParameters(**given["compute"])
    asked = reserve if reserve == "auto" else float(reserve)
    calibration = CalibrationParameters(**{**given["calibration"], "max_steps": steps, "reserve": asked})
    training = TrainingParameters(**{**given["training"], "method": "idbpd", "max_steps": steps})
    splitting = SplitParameters(**{**given["split"], "seed": split_seed})
    division = Division(splitting, FeatureParameters(**given["features"]), problem_settings=problem_settings)
    parts = split(table, division)
    train, test = parts.train, parts.test
    begin = time.perf_counter()
    unsettled = UnsettledExperiment(model, problem_settings, compute, 0, parts.fingerprint)
    rules = WeightDecaySearchParameters(**given["weight_decay_search"])
    problem, _, validated = settle_weight_decay(table, parts.rows, rules, division, training, unsettled)
    experiment = Experiment(model, problem, compute, 0, parts.fingerprint)
    settled = settle_reserve(train, table, parts.rows, calibration, rules, training, validated, division, experiment)
    chosen = time.perf_counter()
    threshold, start, alone = calibrate_with_reserve(train, calibration, settled, experiment)
    weights, _, _, outcome = train_constrained(train, threshold, start, training, experiment)
    solved = time.perf_counter()
    certificate = certify(train, test, weights, outcome, threshold, alone, splitting, experiment)
    equal = with_fixed_weights(experiment, train, {task.name: 1.0 for task in train.tasks})
    of_equal = weights_of(solve(equal.oracle, equal.placed(start), IDBPD(), max_steps=steps, tolerance=1e-3))

    def quality(state: dict[str, Tensor]) -> dict[str, TaskQuality]:
        return measure_quality(trained_network(model, train, state), test, criteria_of(problem))

    ours, theirs, first = quality(weights), quality(of_equal), train.priority
    held_out = certificate["held_out"]
    guesses = {name: ours[name].worst_case_loss / guess for name, guess in held_out["guesses"].items()}
    return Run(
        dataset,
        split_seed,
        candidate,
        reserve,
        beyond,
        problem.weight_decay,
        _usual(ours[first.name], first),
        _usual(theirs[first.name], first),
        ours[first.name].worst_case_loss / theirs[first.name].worst_case_loss,
        guesses.pop(first.name),
        max(guesses.values()),
        float(np.mean([_usual(ours[task.name], task) - _usual(theirs[task.name], task) for task in train.limited])),
        float(np.mean([ours[t.name].worst_case_loss / theirs[t.name].worst_case_loss for t in train.limited])),
        {name: record["verdict"] for name, record in held_out["tasks"].items()},
        {name: record["worst_case_loss"] / record["reference"] for name, record in held_out["tasks"].items()},
        {name: record["reserve"] for name, record in threshold["tasks"].items()},
        outcome["status"],
        chosen - begin,
        solved - chosen,
    )


def _usual(quality: TaskQuality, task: Task) -> float:
    return quality.metrics[USUAL[task.meaning.kind]]


def sampled(table: TaskTable, rows: int) -> TaskTable:
    """At most so many rows, drawn by a fixed seed: a whole data set would take too long."""
    if len(table) <= rows:
        return table
    return table.of_rows(np.sort(np.random.default_rng(0).choice(len(table), rows, replace=False)))


def candidate_of(text: str) -> dict[str, Any]:
    """A worst case as parameters: ``share=0.5``, ``mean``, or ``penalty=1``."""
    name, _, value = text.partition("=")
    if name == "penalty":
        return {"worst_case": "penalty", "lambda": float(value)}
    return {"worst_case": {name: float(value)} if value else name}


def main() -> None:
    """Measure all combinations and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(TABLES))
    parser.add_argument("--candidates", nargs="+", default=["share=0.8"])
    parser.add_argument("--reserves", nargs="+", default=["auto"])
    parser.add_argument("--beyond-limits", nargs="+", type=float, default=[parameters()["problem"]["beyond_limits"]])
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=1000, help="of calibration and of training, at most")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    kinds = (arguments.candidates, arguments.reserves, arguments.beyond_limits)
    jobs = list(itertools.product(arguments.datasets, arguments.splits, *kinds))
    with ProcessPoolExecutor(arguments.workers) as pool:
        futures = [pool.submit(measure, *job, arguments.rows, arguments.steps) for job in jobs]
        runs = []
        for job, future in zip(jobs, futures, strict=True):
            try:
                runs.append(future.result())
            except Exception as error:  # one data set that fails must not lose the others
                print(f"{job}: {type(error).__name__}: {error}", flush=True)
                continue
            print(" ".join(_short(value) for value in runs[-1]), flush=True)
            if arguments.save:
                arguments.save.write_text(json.dumps([run._asdict() for run in runs]), encoding="utf-8")
    print_table(runs)


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}:{_short(one)}" for name, one in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def print_table(runs: list[Run]) -> None:
    """A row per data set, worst case and reserve, means over the splits; and rows of all."""
    print(
        "\n| data set | worst case, reserve, beyond limits | metric | worst | guess | limited: metric, worst "
        "| limits: hold, not shown, broken | choice |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for dataset in [*dict.fromkeys(run.dataset for run in runs), "all"]:
        for kind in dict.fromkeys(run.kind for run in runs):
            of = [run for run in runs if run.kind == kind and dataset in (run.dataset, "all")]
            if of:
                print(f"| {dataset} | {', '.join(kind)} | {_row(of)} |")


def _row(of: list[Run]) -> str:
    points = 100 * np.mean([run.metric - run.metric_equal for run in of])
    worst = np.exp(np.mean(np.log([run.worst for run in of])))
    below = sum(run.guess < 1 for run in of)
    of_limits = [verdict for run in of for verdict in run.verdicts.values()]
    counts = ", ".join(str(of_limits.count(verdict)) for verdict in VERDICTS)
    choice = sum(run.choosing for run in of) / sum(run.solving for run in of)
    guess = (
        f"{np.mean([run.guess for run in of]):.2f} ({below}/{len(of)}), {np.mean([r.guess_limited for r in of]):.2f}"
    )
    limited = (
        f"{100 * np.mean([run.limited for run in of]):+.1f}, "
        f"{np.exp(np.mean(np.log([run.worst_limited for run in of]))):.3f}"
    )
    return f"{points:+.1f} | {worst:.3f} | {guess} | {limited} | {counts} | {choice:.1f}"


if __name__ == "__main__":
    main()
