"""Which worst case should be the default? Models under several worst cases, judged on unseen data.

    python -m benchmarks.default_worst_case --splits 0 1 2 --candidates share=0.5 penalty=1 --datasets wine pupils

For every data set, split and candidate: choose the weight decay, calibrate, train under the limits, and train the usual
model with equal weights of the mean losses; measure on the test part. A line per run is printed, then a table:

- metric: the usual measure of the priority task, ours minus that of equal weights, in points (a hundredth of the
  measure; for an R2 too);
- worst: the worst-case loss of the priority task, ours divided by that of equal weights: below 1 is better;
- guess: the largest of all tasks of the worst-case loss divided by that of a constant guess: below 1 is better;
- alone: the largest of all limited tasks of the worst-case loss, divided by that of the model made for it alone.

Data sets that need published files are skipped where IDBPD_DATA does not have them.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from benchmarks.real_tables import TABLES, table_of
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.calibration import calibrate
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import (
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemSettings,
    SplitParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment, criteria_of, weights_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import TaskQuality, guess_loss, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.training.nodes import train_constrained
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay
from idbpd.pipelines.weight_decay.parameters import WeightDecaySearchParameters
from idbpd.pipelines.weight_decay.search import UnsettledExperiment

PROJECT = Path(__file__).parents[1]
USUAL = {"binary": "accuracy", "classes": "accuracy", "labels": "accuracy", "distribution": "hit_rate", "number": "r2"}


class Run(NamedTuple):
    """One data set, split and candidate."""

    dataset: str
    split: int
    candidate: str
    weight_decay: float
    metric: float
    metric_equal: float
    worst: float
    guess: float
    alone: float
    status: str
    seconds: float


def parameters() -> dict[str, Any]:
    """All defaults of the project."""
    found: dict[str, Any] = {}
    for path in sorted((PROJECT / "conf/base").glob("parameters*.yml")):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def measure(dataset: str, split_seed: int, candidate: str, rows: int) -> Run:
    """Train and judge with one candidate."""
    torch.set_num_threads(1)
    begin = time.perf_counter()
    table = sampled(table_of(dataset), rows)
    given = parameters()
    worst_case = candidate_of(candidate)
    problem_settings = ProblemSettings.model_validate({**given["problem"], **worst_case})
    model, compute = ModelParameters(**given["model"]), ComputeParameters(**given["compute"])
    calibration = CalibrationParameters(**given["calibration"])
    training = TrainingParameters(**{**given["training"], "method": "idbpd", "max_steps": 600})
    splitting = SplitParameters(**{**given["split"], "seed": split_seed})
    division = Division(splitting, FeatureParameters(**given["features"]), problem_settings=problem_settings)
    parts = split(table, division)
    train, test = parts.train, parts.test
    unsettled = UnsettledExperiment(model, problem_settings, compute, 0, parts.fingerprint)
    rules = WeightDecaySearchParameters(**given["weight_decay_search"])
    problem, _ = settle_weight_decay(table, parts.rows, rules, division, training, unsettled)
    experiment = Experiment(model, problem, compute, 0, parts.fingerprint)
    threshold, start, alone = calibrate(train, calibration.model_copy(update={"max_steps": 600}), experiment)
    weights, _, _, outcome = train_constrained(train, threshold, start, training, experiment)
    criteria = criteria_of(problem)
    ones = {task.name: 1.0 for task in train.tasks}
    built = experiment.build(train, train.priority.name, {}).of_weighted_sum(problem, ones)
    equal = weights_of(solve(built.oracle, built.placed(start), IDBPD(), max_steps=600, tolerance=1e-3))

    def quality(state: dict[str, Tensor]) -> dict[str, TaskQuality]:
        return measure_quality(trained_network(model, train, state), test, criteria)

    ours, theirs = quality(weights), quality(equal)
    first = train.priority
    usual = USUAL[first.meaning.kind]
    guesses = {task.name: guess_loss(task, criteria, test[task.name]) for task in train.tasks}
    of_alone = [
        ours[task.name].worst_case_loss / quality(single(alone, task.name))[task.name].worst_case_loss
        for task in train.limited
    ]
    return Run(
        dataset,
        split_seed,
        candidate,
        problem.weight_decay,
        ours[first.name].metrics[usual],
        theirs[first.name].metrics[usual],
        ours[first.name].worst_case_loss / theirs[first.name].worst_case_loss,
        max(ours[name].worst_case_loss / guess for name, guess in guesses.items()),
        max(of_alone),
        outcome["status"],
        time.perf_counter() - begin,
    )


def single(weights: dict[str, Tensor], task: str) -> dict[str, Tensor]:
    """The weights of the model that was made for one task alone."""
    prefix = f"{task}/"
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}


def sampled(table: TaskTable, rows: int) -> TaskTable:
    """At most so many rows, drawn by a fixed seed: a whole data set would take too long."""
    if len(table) <= rows:
        return table
    chosen = np.sort(np.random.default_rng(0).choice(len(table), rows, replace=False))
    return replace(table.of_rows(chosen))


def candidate_of(text: str) -> dict[str, Any]:
    """A candidate as parameters: ``share=0.5``, ``mean``, or ``penalty=1``."""
    name, _, value = text.partition("=")
    if name == "penalty":
        return {"worst_case": "penalty", "lambda": float(value)}
    return {"worst_case": {name: float(value)} if value else name}


def main() -> None:
    """Measure all combinations and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(TABLES))
    parser.add_argument("--candidates", nargs="+", default=["penalty=0.1", "share=0.5", "mean"])
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    jobs = [(d, s, c) for d in arguments.datasets for s in arguments.splits for c in arguments.candidates]
    with ProcessPoolExecutor(arguments.workers) as pool:
        futures = [pool.submit(measure, *job, arguments.rows) for job in jobs]
        runs = []
        for job, future in zip(jobs, futures, strict=True):
            try:
                runs.append(future.result())
            except Exception as error:  # one data set that fails must not lose the others
                print(f"{job}: {type(error).__name__}: {error}", flush=True)
                continue
            print(" ".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in runs[-1]), flush=True)
            if arguments.save:
                arguments.save.write_text(json.dumps([run._asdict() for run in runs]), encoding="utf-8")
    print_table(runs)


def print_table(runs: list[Run]) -> None:
    """A row per data set and candidate, means over the splits; and a row of all."""
    print("\n| data set | worst case | metric | worst | guess | alone | seconds |\n|---|---|---|---|---|---|---|")
    datasets = list(dict.fromkeys(run.dataset for run in runs))
    for dataset in [*datasets, "all"]:
        for candidate in dict.fromkeys(run.candidate for run in runs):
            of = [run for run in runs if run.candidate == candidate and dataset in (run.dataset, "all")]
            if of:
                points = 100 * np.mean([run.metric - run.metric_equal for run in of])
                worst, guess, alone = ([getattr(run, name) for run in of] for name in ("worst", "guess", "alone"))
                print(
                    f"| {dataset} | {candidate} | {points:+.1f} | {np.mean(worst):.3f} | {np.mean(guess):.3f}, "
                    f"{sum(value < 1 for value in guess)} of {len(of)} below 1 | {np.mean(alone):.3f} "
                    f"| {np.mean([run.seconds for run in of]):.0f} |"
                )


if __name__ == "__main__":
    main()
