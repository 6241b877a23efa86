"""Train without a budget, then under it, then what is left after pruning; and measure it."""

import logging
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.experiment.export import export_network
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.method_parameters import DEFAULT_METHODS, MethodsParameters
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import SplitParameters, TrainingParameters
from idbpd.experiment.problem import Experiment, criteria_of
from idbpd.experiment.quality_metrics import quality_metrics
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.solving.constrained_training import Names, Trained, train_as_calibrated
from idbpd.experiment.tracked.point import TrackedPoint
from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.pipelines.energy.budgeted import Budgeted, train_within_budget
from idbpd.pipelines.energy.certified import certify_pruned, worst_residual
from idbpd.pipelines.energy.parameters import EnergyParameters
from idbpd.pipelines.energy.pruned import Pruned
from idbpd.pipelines.energy.pruned import prune_and_fine_tune as pruned_model
from idbpd.pipelines.energy.words import energy_headline, energy_summary

logger = logging.getLogger(__name__)
DENSE = Names("energy_dense", "training without a budget", "without a budget")


def train_dense(
    train: MultiTaskData,
    threshold: dict[str, Any],
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
    methods: MethodsParameters = DEFAULT_METHODS,
) -> Trained:
    """The model of a plain run: under the limits of the tasks alone."""
    return train_as_calibrated(
        DENSE, train, threshold, calibrated_weights, training, methods, experiment, checkpointing
    )


def train_under_budget(
    train: MultiTaskData,
    threshold: dict[str, Any],
    dense: Trained,
    energy: EnergyParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> Budgeted:
    """Weights and levels of sparsity under the limits and the budget, from the dense model."""
    thresholds = thresholds_of(threshold)
    return train_within_budget(train, thresholds, dense.weights, energy, experiment, checkpointing)


def prune_and_fine_tune(
    train: MultiTaskData,
    threshold: dict[str, Any],
    budgeted: Budgeted,
    energy: EnergyParameters,
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> Pruned:
    """The model with real zeros."""
    return pruned_model(train, threshold, budgeted, energy, training, experiment, checkpointing)


def measure_energy(
    table: TaskTable,
    train: MultiTaskData,
    test: MultiTaskData,
    encoding: dict[str, Any],
    scaling: dict[str, Tensor],
    threshold: dict[str, Any],
    single_task_weights: dict[str, Tensor],
    dense: Trained,
    budgeted: Budgeted,
    pruned: Pruned,
    energy: EnergyParameters,
    split: SplitParameters,
    experiment: Experiment,
) -> tuple[dict[str, TrackedPoint], pd.DataFrame, str]:
    """The pruned model with its certificate, next to the dense one; and the verdict in words."""
    outcome = _outcome(dense, budgeted, pruned, experiment)
    network, certificate = certify_pruned(
        train, test, threshold, single_task_weights, budgeted, pruned, outcome, energy, split, experiment
    )
    parts = {"train": train, "test": test} if split.test_fraction > 0 else {"train": train}
    criteria = criteria_of(experiment.problem)
    before = trained_network(experiment.model, train, dense.weights)
    qualities = {part: measure_quality(network, data, criteria) for part, data in parts.items()}
    dense_qualities = {part: measure_quality(before, data, criteria) for part, data in parts.items()}
    quality = quality_metrics(qualities, certificate) | {
        "energy_share": certificate["energy"]["share"],
        "energy_worst_pj": certificate["energy"]["worst_pj"],
        "energy_nonzero": float(sum(layer["nonzero"] for layer in certificate["energy"]["layers"].values())),
        "energy_residual": worst_residual(certificate),
    }
    held_out = certificate["held_out"]
    results = {
        "weights": pruned.weights,
        "history": budgeted.history,
        "outcome": {**outcome, "verdict": "NOT SHOWN" if held_out is None else held_out["verdict"]},
        "certificate": certificate,
        "quality": quality,
        "model": export_network(table, train, encoding, scaling, network, experiment.problem),
    }
    point = TrackedPoint({"budget": f"{energy.budget:g}"}, results)
    return (
        {f"budget_{energy.budget:g}": point},
        energy_summary(qualities, dense_qualities, certificate),
        energy_headline(certificate, quality, energy.residual_limit),
    )


def _outcome(dense: Trained, budgeted: Budgeted, pruned: Pruned, experiment: Experiment) -> dict[str, Any]:
    """How all solves together ended: by the last one, with the steps and seconds of all."""
    solution, stages = pruned.timed.solution, budgeted.stages
    return {
        "method": "idbpd",
        "status": solution.status.name,
        "reason": solution.reason,
        "steps": dense.outcome["steps"] + sum(stage["steps"] for stage in stages) + solution.steps,
        "evaluations": dense.outcome["evaluations"]
        + sum(stage["evaluations"] for stage in stages)
        + solution.evaluations,
        "seconds": dense.outcome["seconds"] + sum(stage["seconds"] for stage in stages) + pruned.timed.total_seconds,
        "multipliers": solution.multipliers.tolist(),
        "threads": torch.get_num_threads(),
        "device": dense.outcome["device"],
        "made_with": experiment.made_with,
        **experiment.fingerprint,
    }
