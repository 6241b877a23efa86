"""Measure the saved weights: the certificate in float64, the quality in the precision that the model is used in."""

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from idbpd.datasets.table import TaskTable
from idbpd.experiment.calibration import weights_alone
from idbpd.experiment.certificate import ExactPoint, evaluate_exactly
from idbpd.experiment.features import encoded
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters, SplitParameters
from idbpd.experiment.problem import Experiment, criteria_of, protected
from idbpd.experiment.provenance import require_same
from idbpd.experiment.thresholds import thresholds_of
from idbpd.mtl import (
    AnsweredTask,
    AnswerNetwork,
    ExportedModel,
    FeatureScaling,
    MultiTaskData,
    measure_constant,
    measure_quality,
    sample_losses,
)
from idbpd.optim.oracle import Maximisers
from idbpd.pipelines.evaluation.compared import Rivals, measure_rivals
from idbpd.pipelines.evaluation.figures import draw_losses_by_task, draw_weights_by_task
from idbpd.pipelines.evaluation.held_out import Promise, check_held_out
from idbpd.pipelines.evaluation.shown import loss_unit
from idbpd.pipelines.evaluation.summary import summary_table
from idbpd.pipelines.evaluation.tables import CONSTANT, OWN, Measured, comparison_table, label_table, metrics
from idbpd.pipelines.evaluation.verdicts import verdict_table


def certify(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    outcome: dict[str, Any],
    threshold: dict[str, Any],
    single_task_weights: dict[str, Tensor],
    split: SplitParameters,
    experiment: Experiment,
) -> dict[str, Any]:
    """The three KKT residuals at the saved weights, with f, g and the multipliers that make the residuals least.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks; ``tasks`` has them one by one.
    ``protects`` says in words what the worst case of each task is taken over, and ``support`` how many samples carry
    weight in it. ``held_out`` is about data that the model never saw; without a test part there is none.
    """
    require_same(outcome["made_with"], experiment.made_with, "model", "train_constrained")
    thresholds = thresholds_of(threshold)
    point = evaluate_exactly(train, thresholds, experiment, weights)
    evaluation, multipliers = point.evaluation, point.best_multipliers
    kkt = point.kkt(multipliers)
    return {
        "status": outcome["status"],
        "reason": outcome["reason"],
        "objective": evaluation.f.item(),
        "constraint": evaluation.g.max().item(),
        "multiplier": multipliers.max().item(),
        "stationarity": kkt.stationarity,
        "infeasibility": kkt.infeasibility,
        "slackness": kkt.slackness,
        "threshold": threshold["threshold"],
        "tasks": {
            name: {"constraint": g.item(), "multiplier": multiplier.item(), "threshold": thresholds[name]}
            for name, g, multiplier in zip(thresholds, evaluation.g, multipliers, strict=True)
        },
        "protects": protected(train, experiment.problem),
        "support": _support_sizes([train.priority.name, *thresholds], evaluation.maximisers),
        "held_out": (
            _held_out(point, weights, test, threshold, single_task_weights, experiment)
            if split.test_fraction > 0
            else None
        ),
    }


def _support_sizes(tasks: list[str], maximisers: Maximisers) -> dict[str, dict[str, int]]:
    sizes = {}
    for name, worst in zip(tasks, (maximisers.y, *maximisers.w), strict=True):
        assert worst is not None  # every task has a worst case
        sizes[name] = {"weighted": int((worst > 0).sum()), "samples": len(worst)}
    return sizes


def _held_out(
    point: ExactPoint,
    weights: dict[str, Tensor],
    test: MultiTaskData,
    threshold: dict[str, Any],
    single_task_weights: dict[str, Tensor],
    experiment: Experiment,
) -> dict[str, Any]:
    built = point.built

    def network(of: dict[str, Tensor]) -> nn.Module:
        return copy.deepcopy(built.network_with(built.placed(of)))  # the problem has one network, which is used again

    promises = {name: Promise(task["threshold"], task["slack"]) for name, task in threshold["tasks"].items()}
    return check_held_out(
        network(weights),
        lambda task: network(weights_alone(single_task_weights, task)),
        built.data,
        built.here(test),
        promises,
        criteria_of(experiment.problem),
    )


def compare(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    unconstrained_weights: dict[str, Tensor],
    equal_weights: dict[str, Tensor],
    single_task_weights: dict[str, Tensor],
    fixed_weights: dict[str, Tensor],
    certificate: dict[str, Any],
    model: ModelParameters,
    problem: ProblemParameters,
    split: SplitParameters,
) -> tuple[dict[str, float], pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The quality of the model as metrics, and next to others: in short, in full, label by label, and in sentences.

    The others are the models without limits and a constant guess. Where no data were held out, all is measured on the
    training data alone, and named so.
    """
    parts, criteria = _parts(train, test, split), criteria_of(problem)
    network = trained_network(model, train, weights)
    rivals = Rivals(unconstrained_weights, equal_weights, single_task_weights, fixed_weights)
    measured: Measured = {
        OWN: {part: measure_quality(network, data, criteria) for part, data in parts.items()},
        **measure_rivals(rivals, model, train, parts, criteria),
        CONSTANT: measure_constant(train, parts, criteria),
    }
    return (
        metrics(measured, certificate),
        summary_table(measured, certificate),
        comparison_table(measured, {task.name: loss_unit(criteria(task).loss) for task in train.tasks}),
        label_table(measured),
        verdict_table(measured, certificate),
    )


def draw_loss_distribution(
    train: MultiTaskData,
    test: MultiTaskData,
    weights: dict[str, Tensor],
    certificate: dict[str, Any],
    model: ModelParameters,
    problem: ProblemParameters,
    split: SplitParameters,
) -> Figure:
    """How the losses of the samples are distributed, on both parts, with the thresholds."""
    network = trained_network(model, train, weights)
    criteria, parts = criteria_of(problem), _parts(train, test, split)
    losses = {part: sample_losses(network, data, criteria) for part, data in parts.items()}
    worst_cases = {
        part: {task: criteria(parts[part][task]).worst(values).value.item() for task, values in by_task.items()}
        for part, by_task in losses.items()
    }
    limits = {task: record["threshold"] for task, record in certificate["tasks"].items()}
    units = {task.name: loss_unit(criteria(task).loss) for task in train.tasks}
    return draw_losses_by_task(losses, worst_cases, limits, units)


def draw_worst_case_weights(
    train: MultiTaskData, weights: dict[str, Tensor], model: ModelParameters, problem: ProblemParameters
) -> Figure:
    """Which share of the samples the worst case is made of."""
    criteria = criteria_of(problem)
    losses = sample_losses(trained_network(model, train, weights), train, criteria)
    return draw_weights_by_task({task: criteria(train[task]).worst(values).weights for task, values in losses.items()})


def export(
    table: TaskTable,
    train: MultiTaskData,
    encoding: dict[str, Any],
    scaling: dict[str, Tensor],
    weights: dict[str, Tensor],
    model: ModelParameters,
    problem: ProblemParameters,
) -> ExportedModel:
    """The trained model as others use it: raw columns in, answers to every task out; and an example of two rows."""
    scale = FeatureScaling(scaling["center"], scaling["scale"])
    criteria = criteria_of(problem)
    losses = [criteria(task).loss for task in train.tasks]
    two = np.arange(2)
    return ExportedModel(
        network=AnswerNetwork(trained_network(model, train, weights), scale, losses),
        encoding=encoding,
        tasks=tuple(AnsweredTask.of(task) for task in train.tasks),
        features=torch.from_numpy(encoded(table, two, encoding)).to(train.features.dtype),
        example=json.loads(table.frame(two).to_json(orient="records", date_format="iso")),
        identifiers=table.identifiers,
    )


def _parts(train: MultiTaskData, test: MultiTaskData, split: SplitParameters) -> dict[str, MultiTaskData]:
    """The parts of the data by name; without held-out data there is one."""
    return {"train": train, "test": test} if split.test_fraction > 0 else {"train": train}
