"""Measure the saved weights: the certificate in float64, the quality in the precision that the model is used in."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from torch import Tensor

from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters, SplitParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.quality_metrics import quality_metrics
from idbpd.experiment.shown import loss_unit
from idbpd.mtl import (
    MultiTaskData,
    measure_constant,
    sample_losses,
)
from idbpd.pipelines.evaluation.compared import Rivals, measure_rivals, measured_on, parts_of
from idbpd.pipelines.evaluation.figures import draw_losses_by_task, draw_weights_by_task
from idbpd.pipelines.evaluation.summary import summary_table
from idbpd.pipelines.evaluation.tables import CONSTANT, OWN, Measured, comparison_table, label_table
from idbpd.pipelines.evaluation.verdicts import verdict_table


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
    parts, criteria = parts_of(train, test, split), criteria_of(problem)
    network = trained_network(model, train, weights)
    rivals = Rivals(unconstrained_weights, equal_weights, single_task_weights, fixed_weights)
    measured: Measured = {
        OWN: measured_on(network, parts, criteria),
        **measure_rivals(rivals, model, train, parts, criteria),
        CONSTANT: measure_constant(train, parts, criteria),
    }
    return (
        quality_metrics(measured[OWN], certificate),
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
    criteria, parts = criteria_of(problem), parts_of(train, test, split)
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
