"""Training under an energy budget next to magnitude pruning, at the same verified energy, on unseen data.

    python -m benchmarks.energy_budget --save energy.json
    python -m benchmarks.energy_budget --datasets multi_digits --networks lenet --save energy.json
    python -m benchmarks.energy_budget --save energy.json --draw docs/figures/energy.png

For every data set, network, seed (of the split and of the first weights) and budget: the steps of `kedro run --pipeline
energy`, and iterative global magnitude pruning from the same dense model, with as many rounds as there are stages, the
same solver, the same limits, the same weight decay and the same largest number of steps per round and for the last
fine-tuning. Results that are in the file already are not made again, so that a run that was stopped goes on. It ends
with 1 if a point misses what every point has to show (`benchmarks.energy_claims`).
"""

import argparse
import itertools
import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from benchmarks.energy_claims import print_claims
from benchmarks.energy_figure import draw, print_table
from benchmarks.magnitude_pruning import magnitude_pruned
from benchmarks.real_tables import table_of
from benchmarks.small_pictures import small_pairs
from benchmarks.unseen_data import parameters, sampled
from torch import Tensor

from idbpd.energy import narrowed, verified_energy
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.limits.thresholds import thresholds_of
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
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS
from idbpd.experiment.solving.durable_solve import Budget
from idbpd.experiment.solving.stage import Stage
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.table_split import split
from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.pipelines.energy.budgeted import flat
from idbpd.pipelines.energy.certified import certify_pruned, worst_residual
from idbpd.pipelines.energy.nodes import train_dense, train_under_budget
from idbpd.pipelines.energy.parameters import EnergyParameters
from idbpd.pipelines.energy.plan import energy_model, samples_of
from idbpd.pipelines.energy.pruned import fine_tune, prune_and_fine_tune
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay
from idbpd.pipelines.weight_decay.search import UnsettledExperiment

BUDGETS = (1.0, 0.5, 0.3, 0.1, 0.05)
NETWORKS: dict[str, dict[str, Any]] = {
    "mlp": {},
    "lenet": {"type": "benchmarks.small_convolutions.SmallLeNet"},
}
OURS, RIVAL = "budget", "magnitude"
PICTURES = {"multi_mnist_14": "mnist", "multi_fashion_14": "fashion-mnist"}  # data sets with small pictures


class Ground(NamedTuple):
    """What both methods start from."""

    train: MultiTaskData
    test: MultiTaskData
    threshold: dict[str, Any]
    alone: dict[str, Tensor]
    dense: Any
    experiment: Experiment
    split: SplitParameters
    training: TrainingParameters
    energy: EnergyParameters
    rounds: int


class Size(NamedTuple):
    """How large a measurement is."""

    rows: int
    test_fraction: float | None  # None: that of the product
    steps: int  # of calibration, dense training and fine-tuning
    weight_decay: float | None  # None: chosen on a validation part
    rounds: int | None = None  # of magnitude pruning; None: as many as there are stages


def prepared(dataset: str, network: str, seed: int, size: Size) -> Ground:
    """Split, choose the weight decay, calibrate, and train the dense model."""
    given, (rows, test_fraction, steps, weight_decay, rounds) = parameters(), size
    given["problem"] |= {} if weight_decay is None else {"weight_decay": weight_decay}
    given["split"] |= {} if test_fraction is None else {"test_fraction": test_fraction}
    table = small_pairs(PICTURES[dataset], rows) if dataset in PICTURES else sampled(table_of(dataset), rows)
    settings = ProblemSettings.model_validate(given["problem"])
    model = ModelParameters(**{**given["model"], **NETWORKS[network]})
    compute = ComputeParameters(**given["compute"])
    training = TrainingParameters(**{**given["training"], "method": "idbpd", "max_steps": steps})
    calibration = CalibrationParameters(**{**given["calibration"], "max_steps": steps, "reserve": 0.0})
    splitting = SplitParameters(**{**given["split"], "seed": seed})
    division = Division(splitting, FeatureParameters(**given["features"]), problem_settings=settings)
    parts = split(table, division)
    rules = WeightDecaySearchParameters(**given["weight_decay_search"])
    unsettled = UnsettledExperiment(model, settings, compute, seed, parts.fingerprint)
    problem, _, _ = settle_weight_decay(table, parts.rows, rules, division, training, unsettled)
    experiment = Experiment(model, problem, compute, seed, parts.fingerprint)
    threshold, start, alone = calibrate(parts.train, calibration, experiment)
    dense = train_dense(parts.train, threshold, start, training, experiment)
    energy = EnergyParameters(**given["energy"])
    return Ground(
        parts.train, parts.test, threshold, alone, dense, experiment, splitting, training, energy,
        rounds or energy.stages,
    )  # fmt: skip


def within_budget(ground: Ground, budget: float) -> dict[str, Any]:
    """The steps of the pipeline."""
    energy = ground.energy.model_copy(update={"budget": budget})
    shared = (ground.train, ground.threshold)
    budgeted = train_under_budget(*shared, ground.dense, energy, ground.experiment)
    pruned = prune_and_fine_tune(*shared, budgeted, energy, ground.training, ground.experiment, NO_CHECKPOINTS)
    outcome = {**ground.dense.outcome, "status": pruned.timed.solution.status.name}
    _, certificate = certify_pruned(
        ground.train, ground.test, ground.threshold, ground.alone, budgeted, pruned, outcome, energy, ground.split,
        ground.experiment,
    )  # fmt: skip
    return {
        **measured(ground, pruned.weights, budget),
        "residual": worst_residual(certificate),
        "multipliers": multipliers_of(certificate["budgeted"]),
        "evaluations": sum(one["evaluations"] for one in budgeted.stages) + pruned.timed.solution.evaluations,
    }


def multipliers_of(budgeted: Mapping[str, Any]) -> list[float]:
    """Those of the layers and of the energy."""
    return [part["multiplier"] for part in (*budgeted["layers"].values(), budgeted["energy"])]


def by_magnitude(ground: Ground, budget: float) -> dict[str, Any]:
    """Rounds of magnitude pruning, each with the steps of a stage; the last one with those of stage and fine-tuning."""
    thresholds, energy = thresholds_of(ground.threshold), ground.energy
    built = ground.experiment.build(ground.train, ground.train.priority.name, thresholds)
    network = trained_network(ground.experiment.model, ground.train, ground.dense.weights)
    model = energy_model(network, ground.train, energy)
    rounds = ground.rounds
    budgets = [model.dense * budget ** (number / rounds) for number in range(1, rounds + 1)]
    spent: list[int] = []
    residuals: list[float] = []

    def tuned(weights: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
        is_last = number == rounds - 1
        steps = energy.max_steps + ground.training.max_steps if is_last else energy.stage_steps
        tolerance = ground.training.tolerance if is_last else energy.tolerance
        x = flat(built.placed(weights))
        stage = Stage(f"round_{number}", f"magnitude, round {number + 1}", {}, NO_CHECKPOINTS)
        timed = fine_tune(stage, built, x, thresholds, Budget(steps, tolerance))
        spent.append(timed.solution.evaluations)
        residuals.append(timed.solution.kkt.worst)
        return weights_of(timed.solution)

    weights = magnitude_pruned(network, samples_of(ground.train), energy.hardware, budgets, tuned)
    return {**measured(ground, weights, budget), "residual": residuals[-1], "evaluations": sum(spent)}


def measured(ground: Ground, weights: Mapping[str, Tensor], budget: float) -> dict[str, Any]:
    """Energy, limits on the training part, and quality on unseen data."""
    experiment = ground.experiment
    full = trained_network(experiment.model, ground.train, weights)
    network, criteria = narrowed(full, samples_of(ground.train)), criteria_of(experiment.problem)
    energy = verified_energy(network, samples_of(ground.train)[0], ground.energy.hardware)
    dense = energy_model(full, ground.train, ground.energy).dense
    unseen, seen = (measure_quality(network, part, criteria) for part in (ground.test, ground.train))
    limits = thresholds_of(ground.threshold)
    return {
        "share": energy.worst / dense,
        "within": energy.is_within(budget * dense),
        "nonzero": energy.nonzero,
        "excess": max(seen[task].worst_case_loss / limit - 1 for task, limit in limits.items()),
        "objective": seen[ground.train.priority.name].worst_case_loss,
        "tasks": {
            task: {
                "worst": found.worst_case_loss,
                "mean": found.mean_loss,
                "usual": found.headline[1],
                "measure": found.headline[0],
            }
            for task, found in unseen.items()
        },
    }


def main() -> None:
    """Measure what is missing, print the table, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=["multi_digits", *PICTURES])
    parser.add_argument("--networks", nargs="+", default=["mlp"], choices=NETWORKS)
    parser.add_argument("--budgets", nargs="+", type=float, default=list(BUDGETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--steps", type=int, default=1000, help="of calibration, dense training and fine-tuning")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--test-fraction", type=float, help="default: that of the product")
    parser.add_argument("--weight-decay", type=float, help="default: chosen on a validation part, as by the product")
    parser.add_argument("--rounds", type=int, help="of magnitude pruning; default: as many as there are stages")
    parser.add_argument("--save", type=Path, required=True)
    parser.add_argument("--draw", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    rows: list[dict[str, Any]] = json.loads(arguments.save.read_text()) if arguments.save.exists() else []
    size = Size(arguments.rows, arguments.test_fraction, arguments.steps, arguments.weight_decay, arguments.rounds)
    # Seed by seed, so that a run that is stopped has as many seeds of each kind.
    kinds = itertools.product(arguments.seeds, arguments.datasets, arguments.networks)
    for seed, dataset, network in kinds:
        what = {"dataset": dataset, "network": network, "seed": seed}
        missing = [
            (budget, method)
            for budget in arguments.budgets
            for method in (OURS, RIVAL)
            if not _has(rows, {**what, "budget": budget, "method": method})
        ]
        if missing:
            ground = prepared(dataset, network, seed, size)
        for budget, method in missing:
            begin = time.process_time()
            found = (within_budget if method == OURS else by_magnitude)(ground, budget)
            key = {**what, "budget": budget, "method": method}
            rows.append({**key, "seconds": time.process_time() - begin, **found})
            arguments.save.write_text(json.dumps(rows, indent=1), encoding="utf-8")
            print(_line(rows[-1]), flush=True)
    print_table(rows)
    if arguments.draw:
        draw(rows, arguments.draw)
    if not print_claims(rows):
        raise SystemExit(1)


def _has(rows: Sequence[Mapping[str, Any]], key: Mapping[str, Any]) -> bool:
    return any(all(row[name] == value for name, value in key.items()) for row in rows)


def _line(row: Mapping[str, Any]) -> str:
    tasks = " ".join(f"{one['worst']:.4f} {one['usual']:.3f}" for one in row["tasks"].values())
    return (
        f"{row['dataset']} {row['network']} seed {row['seed']} budget {row['budget']:g} {row['method']:9} energy "
        f"{row['share']:.4f} within {row['within']} residual {row['residual']:.1e} excess {row['excess']:+.3f} "
        f"train {row['objective']:.4f} test {tasks} evaluations {row['evaluations']} {row['seconds']:.0f} s"
    )


if __name__ == "__main__":
    main()
