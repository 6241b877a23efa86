"""How well the limit of the constraint task holds on unseen data, over random splits, with the default settings.

    IDBPD_DATA=/path/to/data python benchmarks/held_out.py multi_digits yeast --splits 0 1 2 3 4
    python benchmarks/held_out.py multi_digits --splits 0 1 2 --weight-decay 0.001

Everything is that of `kedro run` except for the seed of the split; nothing is written. A row is one split: the weight
decay, the threshold r, the worst-case loss on the test part and its bootstrap bound as multiples of r, and the hit
rates on the test part with the constraint and without it.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from torch import Tensor

from idbpd.datasets.table import MultiLabelTable
from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.pipelines.calibration.nodes import calibrate
from idbpd.pipelines.evaluation.held_out import check_held_out
from idbpd.pipelines.network import trained_network
from idbpd.pipelines.parameters import (
    CalibrationParameters,
    ComputeParameters,
    FeatureParameters,
    ModelParameters,
    ProblemSettings,
    SplitParameters,
    TrainingParameters,
    WeightDecaySearchParameters,
)
from idbpd.pipelines.splitting.nodes import split
from idbpd.pipelines.training.nodes import train_constrained, train_unconstrained
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay

PROJECT = Path(__file__).parents[1]
GOAL = 1.3


class Row(NamedTuple):
    """What one split gave."""

    weight_decay: float
    threshold: float
    ratio: float  # worst-case loss of the constraint task on the test part / threshold
    bound: float  # its bootstrap upper bound / threshold
    hits: tuple[float, float]  # priority task, constraint task
    unconstrained_hits: tuple[float, float]


def measure(table: MultiLabelTable, parameters: dict[str, Any], seed: int) -> Row:
    """Split, settle the weight decay, calibrate, train with and without the constraint, and judge on the test part."""
    splitting = SplitParameters(**{**parameters["split"], "seed": seed})
    features, model = FeatureParameters(**parameters["features"]), ModelParameters(**parameters["model"])
    calibration = CalibrationParameters(**parameters["calibration"])
    compute = ComputeParameters(**parameters["compute"])
    train, test, _, fingerprint = split(table, splitting, features)
    problem, _ = settle_weight_decay(
        table,
        fingerprint,
        ProblemSettings(**parameters["problem"]),
        WeightDecaySearchParameters(**parameters["weight_decay_search"]),
        splitting,
        features,
        calibration,
        model,
        compute,
        0,
    )
    threshold, start = calibrate(train, fingerprint, calibration, model, problem, compute, 0)
    shared = (start, TrainingParameters(**parameters["training"]), model, problem, compute, 0)
    weights, *_ = train_constrained(train, threshold, fingerprint, *shared)
    unconstrained = train_unconstrained(train, *shared, fingerprint)

    def hits(state: dict[str, Tensor], data: MultiTaskData) -> tuple[float, float]:
        quality = measure_quality(trained_network(model, train, state), data, problem.regularisation)
        first, second = (quality[task.name].hit_rate for task in data.tasks)
        return first, second

    limit = threshold["threshold"]
    name = train.limited[0].name
    held_out = check_held_out(trained_network(model, train, weights), test, {name: limit}, problem.regularisation)[
        "tasks"
    ][name]
    return Row(
        problem.weight_decay,
        limit,
        held_out["worst_case_loss"] / limit,
        held_out["upper_bound"] / limit,
        hits(weights, test),
        hits(unconstrained, test),
    )


def _print_head(dataset: str) -> None:
    print(f"\n{dataset}\n")
    print("| split | weight decay | r | test / r | bound / r | priority hits | without | constraint hits | without |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)


def _print_row(seed: int, row: Row) -> None:
    rates = [row.hits[0], row.unconstrained_hits[0], row.hits[1], row.unconstrained_hits[1]]
    shown = " | ".join(f"{rate:.1%}" for rate in rates)
    print(
        f"| {seed} | {row.weight_decay:g} | {row.threshold:.3f} | {row.ratio:.2f} | {row.bound:.2f} | {shown} |",
        flush=True,
    )


def _print_sum(rows: list[Row]) -> None:
    print(f"\n{sum(row.ratio <= GOAL for row in rows)} of {len(rows)} splits are at most {GOAL} r on unseen data")
    for at, task in enumerate(("priority", "constraint")):
        difference = torch.tensor([row.hits[at] - row.unconstrained_hits[at] for row in rows])
        error = difference.std().item() / len(rows) ** 0.5 if len(rows) > 1 else float("nan")
        print(f"{task} hits against the unconstrained model: {difference.mean():+.2%}, standard error {error:.2%}")


def main() -> None:
    """Print a table per data set."""
    parser = argparse.ArgumentParser(description="How well the limit holds on unseen data.")
    parser.add_argument("datasets", nargs="+", help="names from conf/base/sources.yml")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="seeds of the split")
    parser.add_argument("--weight-decay", help="a number or auto, in place of that of parameters.yml")
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
        for seed in arguments.splits:
            rows.append(measure(table, parameters, seed))
            _print_row(seed, rows[-1])
        _print_sum(rows)


if __name__ == "__main__":
    main()
