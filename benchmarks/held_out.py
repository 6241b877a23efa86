"""How well the limit of the constraint task holds on unseen data, over random splits, with the default settings.

    IDBPD_DATA=/path/to/data python benchmarks/held_out.py multi_digits yeast --splits 0 1 2 3 4
    python benchmarks/held_out.py multi_digits --splits 0 1 2 --seeds 0 1 --weight-decay 0.001

Everything is that of `kedro run` except for the seed of the split, and that of the network where it is given; nothing
is written. A row is one split and seed: the weight decay, the threshold r, the worst-case loss of the constraint task
on the test part and its bootstrap bound as multiples of r, and, on the test part with the constraint and without it,
the worst-case loss of the priority task and the first measure of quality of both: the hit rate, or that of its kind.
"""

import argparse
import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.calibration import calibrate, weights_alone
from idbpd.experiment.held_out import Promise, check_held_out
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
from idbpd.experiment.problem import Experiment, criteria_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import TaskQuality, measure_quality
from idbpd.pipelines.training.comparison_nodes import train_unconstrained
from idbpd.pipelines.training.nodes import train_constrained
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay
from idbpd.pipelines.weight_decay.parameters import WeightDecaySearchParameters
from idbpd.pipelines.weight_decay.search import UnsettledExperiment

PROJECT = Path(__file__).parents[1]
GOAL = 1.3


class Row(NamedTuple):
    """What one split gave with one seed."""

    weight_decay: float
    threshold: float
    ratio: float  # worst-case loss of the constraint task on the test part / its limit there
    bound: float  # its upper bound / the same
    constrained: tuple[TaskQuality, TaskQuality]  # priority task, constraint task
    unconstrained: tuple[TaskQuality, TaskQuality]


def measure(table: TaskTable, parameters: dict[str, Any], split_seed: int, seed: int) -> Row:
    """Split, settle the weight decay, calibrate, train with and without the constraint, and judge on the test part."""
    splitting = SplitParameters(**{**parameters["split"], "seed": split_seed})
    features, model = FeatureParameters(**parameters["features"]), ModelParameters(**parameters["model"])
    calibration = CalibrationParameters(**parameters["calibration"])
    compute = ComputeParameters(**parameters["compute"])
    training = TrainingParameters(**parameters["training"])
    train, test, _, _, rows, fingerprint = split(table, Division(splitting, features))
    unsettled = UnsettledExperiment(model, ProblemSettings(**parameters["problem"]), compute, seed, fingerprint)
    rules = WeightDecaySearchParameters(**parameters["weight_decay_search"])
    problem, _ = settle_weight_decay(table, rows, rules, Division(splitting, features), training, unsettled)
    experiment = Experiment(model, problem, compute, seed, fingerprint)
    threshold, start, alone = calibrate(train, calibration, experiment)
    shared = (start, training, experiment)
    weights, *_ = train_constrained(train, threshold, *shared)
    unconstrained = train_unconstrained(train, *shared)

    def judged(state: dict[str, Tensor]) -> tuple[TaskQuality, TaskQuality]:
        quality = measure_quality(trained_network(model, train, state), test, criteria_of(problem))
        first, second = (quality[task.name] for task in test.tasks)
        return first, second

    limit = threshold["threshold"]
    name = train.limited[0].name
    held_out = check_held_out(
        trained_network(model, train, weights),
        lambda task: trained_network(model, train, weights_alone(alone, task)),
        train,
        test,
        {name: Promise(limit, calibration.slack)},
        criteria_of(problem),
    )["tasks"][name]
    return Row(
        problem.weight_decay,
        limit,
        held_out["worst_case_loss"] / held_out["reference"],
        (held_out["upper_bound"] or math.inf) / held_out["reference"],
        judged(weights),
        judged(unconstrained),
    )


def _print_head(dataset: str) -> None:
    columns = (
        "split, seed | weight decay | r | test / r | bound / r | priority worst case | without "
        "| priority quality | without | constraint quality | without"
    )
    print(f"\n{dataset}\n\n| {columns} |\n|{'---|' * (columns.count('|') + 1)}", flush=True)


def _print_row(split_seed: int, seed: int, row: Row) -> None:
    of_both = list(zip(row.constrained, row.unconstrained, strict=True))
    losses = [f"{quality.worst_case_loss:.3f}" for quality in of_both[0]]
    measures = [_headline(quality) for pair in of_both for quality in pair]
    print(
        f"| {split_seed}, {seed} | {row.weight_decay:g} | {row.threshold:.3f} | {row.ratio:.2f} | {row.bound:.2f} "
        f"| {' | '.join(losses + measures)} |",
        flush=True,
    )


def _headline(quality: TaskQuality) -> str:
    name, value = quality.headline
    return f"{name.replace('_', ' ')} {value:.3f}"


def _print_sum(rows: list[Row]) -> None:
    kept, near = (sum(row.ratio <= share for row in rows) for share in (1.0, GOAL))
    print(f"\non unseen data {kept} of {len(rows)} runs keep the limit r, {near} keep {GOAL} r")
    for at, task in enumerate(("priority", "constraint")):
        name, _ = rows[0].constrained[at].headline
        pairs = [(row.constrained[at].headline[1], row.unconstrained[at].headline[1]) for row in rows]
        difference = torch.tensor([ours - theirs for ours, theirs in pairs])
        error = difference.std().item() / len(rows) ** 0.5 if len(rows) > 1 else float("nan")
        print(f"{task} {name} against the unconstrained model: {difference.mean():+.4f}, standard error {error:.4f}")


def main() -> None:
    """Print a table per data set."""
    parser = argparse.ArgumentParser(description="How well the limit holds on unseen data.")
    parser.add_argument("datasets", nargs="+", help="names from conf/base/sources.yml")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="seeds of the split")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of the network's first weights")
    parser.add_argument("--weight-decay", help="a number or auto, in place of that of the parameters")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    bootstrap_project(PROJECT)
    for dataset in arguments.datasets:
        chosen: dict[str, Any] = {"dataset": dataset}
        if arguments.weight_decay is not None:
            given = arguments.weight_decay
            chosen["problem"] = {"weight_decay": given if given == "auto" else float(given)}
        context = KedroSession.create(PROJECT, runtime_params=chosen).load_context()
        table, parameters = context.catalog.load("source"), context.config_loader["parameters"]
        _print_head(dataset)
        rows = []
        for split_seed, seed in itertools.product(arguments.splits, arguments.seeds):
            rows.append(measure(table, parameters, split_seed, seed))
            _print_row(split_seed, seed, rows[-1])
        _print_sum(rows)


if __name__ == "__main__":
    main()
