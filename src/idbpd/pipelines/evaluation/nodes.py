"""Measure the saved weights: the certificate in float64, the quality in the precision that the model is used in."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from torch import Tensor

from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import ModelParameters, ProblemParameters
from idbpd.experiment.problem import criteria_of
from idbpd.experiment.quality_metrics import quality_metrics
from idbpd.experiment.shown import loss_unit
from idbpd.mtl import (
    MultiTaskData,
    measure_constant,
    sample_losses,
)
from idbpd.pipelines.evaluation.compared import Assessment, Rivals, measure_rivals
from idbpd.pipelines.evaluation.figures import draw_losses_by_task, draw_weights_by_task
from idbpd.pipelines.evaluation.summary import summary_table
from idbpd.pipelines.evaluation.tables import CONSTANT, OWN, Measured, comparison_table, label_table
from idbpd.pipelines.evaluation.verdicts import verdict_table


def compare(
    weights: dict[str, Tensor], rivals: Rivals, certificate: dict[str, Any], assessment: Assessment
) -> tuple[dict[str, float], pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The quality of the model as metrics, and next to others: in short, in full, label by label, and in sentences.

    The others are the models without limits and a constant guess. Where no data were held out, all is measured on the
    training data alone, and named so.
    """
    train, criteria = assessment.train, assessment.criteria
    measured: Measured = {
        OWN: assessment.measured(weights),
        **measure_rivals(rivals, assessment),
        CONSTANT: measure_constant(train, assessment.parts, criteria),
    }
    return (
        quality_metrics(measured[OWN], certificate),
        summary_table(measured, certificate),
        comparison_table(measured, {task.name: loss_unit(criteria(task).loss) for task in train.tasks}),
        label_table(measured),
        verdict_table(measured, certificate),
    )


def draw_loss_distribution(weights: dict[str, Tensor], certificate: dict[str, Any], assessment: Assessment) -> Figure:
    """How the losses of the samples are distributed, on both parts, with the thresholds."""
    network, criteria, parts = assessment.network(weights), assessment.criteria, assessment.parts
    losses = {part: sample_losses(network, data, criteria) for part, data in parts.items()}
    worst_cases = {
        part: {task: criteria(parts[part][task]).worst(values).value.item() for task, values in by_task.items()}
        for part, by_task in losses.items()
    }
    limits = {task: record["threshold"] for task, record in certificate["tasks"].items()}
    units = {task.name: loss_unit(criteria(task).loss) for task in assessment.train.tasks}
    return draw_losses_by_task(losses, worst_cases, limits, units)


def draw_worst_case_weights(
    train: MultiTaskData, weights: dict[str, Tensor], model: ModelParameters, problem: ProblemParameters
) -> Figure:
    """Which share of the samples the worst case is made of."""
    criteria = criteria_of(problem)
    losses = sample_losses(trained_network(model, train, weights), train, criteria)
    return draw_weights_by_task({task: criteria(train[task]).worst(values).weights for task, values in losses.items()})
