"""How good a model the default solver finds, against Cooper with Adam on the same exact f and g at the same time.

Per data set, in the product's default split with weight decay 0: the constraint task alone is calibrated, the threshold
is its value times 1.1, and from the calibrated weights

- ``IDBPD()`` runs with its default budget (3000 steps, until the worst residual is 1e-3);
- Cooper with Adam runs once for each combination of its learning rates, each for as long as IDBPD took.

What counts is the lowest objective f among the iterates with g <= 1e-4, and the worst of the three residuals at the
iterate that IDBPD returns. Time is that of the processor with one thread, so that other work on the machine does not
count.

Run: ``PYTHONPATH=src python benchmarks/quality.py chd49 yeast multi_digits``; the data sets that are not bundled are
read from the folder that IDBPD_DATA names. ``--help`` shows the options.
"""

import argparse
import json
import logging
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from torch import Tensor

from idbpd.baselines import grid, make_method
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import (
    FeatureParameters,
    ModelParameters,
    ProblemParameters,
    SplitParameters,
)
from idbpd.experiment.problem import BuiltProblem, build_problem, weights_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import MultiTaskData
from idbpd.optim import IDBPD, Method, Record, solve
from idbpd.pipelines.ingestion.nodes import ingest
from idbpd.validation import validated

PROJECT = Path(__file__).parents[1]
SLACK = 0.1
FEASIBLE = 1e-4


class Run(NamedTuple):
    """What one method reached."""

    method: str
    options: dict[str, float]
    status: str
    steps: int
    seconds: float
    objective: float | None  # the lowest among the feasible iterates
    infeasibility: float  # of the returned iterate
    worst: float  # its worst residual
    least_violation: float  # of all iterates


class Watch:
    """Remembers the best feasible objective of a run and ends it when its time is up."""

    def __init__(self, seconds: float) -> None:
        """Start the clock."""
        self._begin, self._seconds = time.process_time(), seconds
        self.objective, self.least_violation = math.inf, math.inf

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return time.process_time() - self._begin

    def __call__(self, record: Record) -> bool:
        """Look at one step."""
        violation = max([0.0, *record.g.tolist()])
        self.least_violation = min(self.least_violation, violation)
        if violation <= FEASIBLE:
            self.objective = min(self.objective, float(record.f))
        return self.seconds > self._seconds


def training_part(dataset: str) -> MultiTaskData:
    """The training part of a data set as ``kedro run`` splits it by default."""
    bootstrap_project(PROJECT)
    with KedroSession.create(PROJECT, runtime_params={"dataset": dataset}) as session:
        assert isinstance(session, KedroSession)
        context = session.load_context()
        table = ingest(context.catalog.load("source"))
        parameters = context.params
    how = validated("split", SplitParameters, parameters["split"])
    return split(table, Division(how, validated("features", FeatureParameters, parameters["features"])))[0]


def run(
    built: BuiltProblem, start: dict[str, Tensor], name: str, options: dict[str, float], seconds: float, budget: Any
) -> Run:
    """One method from ``start``, at most ``seconds`` long."""
    method: Method[Any] = make_method(name, options)
    watch = Watch(seconds)
    solution = solve(
        built.oracle, start, method, max_steps=budget.max_steps, tolerance=budget.tolerance, callback=watch
    )
    objective = watch.objective if math.isfinite(watch.objective) else None
    kkt = solution.kkt
    return Run(
        name, options, solution.status.name, solution.steps, watch.seconds, objective, kkt.infeasibility, kkt.worst,
        watch.least_violation,
    )  # fmt: skip


def measure(dataset: str, budget: argparse.Namespace) -> dict[str, Any]:
    """Calibrate, run all, print a line each."""
    train = training_part(dataset)
    model, compute = ModelParameters(hidden=budget.hidden), ComputeParameters(device="cpu", dtype="float32")
    problem = ProblemParameters.model_validate({"lambda": budget.regularisation, "weight_decay": 0.0})
    (limited,) = train.limited
    alone = build_problem(train, limited.name, {}, model, problem, compute, budget.seed)
    watch = Watch(budget.calibration_seconds)
    calibrated = solve(alone.oracle, alone.initial_weights, IDBPD(), budget.max_steps, budget.tolerance, watch)
    threshold = (1 + SLACK) * calibrated.f
    print(
        f"{dataset}: the {limited.name} task alone reaches {calibrated.f:.4f} ({calibrated.status.name}, "
        f"{calibrated.steps} steps, {watch.seconds:.0f} s), threshold {threshold:.4f}",
        flush=True,
    )
    built = build_problem(train, train.priority.name, {limited.name: threshold}, model, problem, compute, budget.seed)
    start = weights_of(calibrated) if budget.start == "calibrated" else built.initial_weights
    first = run(built, start, "idbpd", {}, budget.seconds, budget)
    _show(first)
    long = argparse.Namespace(max_steps=10**9, tolerance=budget.tolerance)
    others = []
    for options in grid("cooper_adam") if budget.cooper else []:
        outcome = run(built, start, "cooper_adam", options, first.seconds, long)
        others.append(outcome)
        _show(outcome)
    reached = [other.objective for other in others if other.objective is not None]
    if others:
        best = f"{min(reached):.4f}" if reached else "none feasible"
        print(f"  IDBPD {_number(first.objective)}, best of Cooper {best}", flush=True)
    return {
        "dataset": dataset,
        "lambda": budget.regularisation,
        "start": budget.start,
        "threshold": threshold,
        "idbpd": first._asdict(),
        "cooper_adam": [other._asdict() for other in others],
    }


def _show(outcome: Run) -> None:
    options = " ".join(f"{name}={value:g}" for name, value in outcome.options.items())
    print(
        f"  {outcome.method:12s} {options:32s} {outcome.status:10s} {outcome.steps:6d} steps {outcome.seconds:6.1f} s  "
        f"f {_number(outcome.objective)}  worst {outcome.worst:.1e}  infeasibility {outcome.infeasibility:.1e}",
        flush=True,
    )


def _number(value: float | None) -> str:
    return "none feasible" if value is None else f"{value:.4f}"


def main() -> None:
    """Measure every data set named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--lambda", dest="regularisation", type=float, default=0.1)
    parser.add_argument("--start", choices=["calibrated", "random"], default="calibrated")
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-steps", type=int, default=3000)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most so long per run")
    parser.add_argument("--calibration-seconds", type=float, default=math.inf)
    parser.add_argument("--no-cooper", dest="cooper", action="store_false")
    parser.add_argument("--output", type=Path, help="write everything as JSON to this file")
    budget = parser.parse_args()
    logging.disable(logging.INFO)
    torch.set_num_threads(1)
    results = []
    for dataset in budget.datasets:
        results.append(measure(dataset, budget))
        if budget.output:
            budget.output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
