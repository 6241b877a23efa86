"""Measures of quality that people know, by kind of task.

A new measure of a kind is an entry in the dictionary that its function returns; a new kind is a line in `MEASURES`.
"""

import math
from collections.abc import Callable, Mapping

from torch import Tensor

from idbpd.mtl.data import Task
from idbpd.mtl.kinds import Kind
from idbpd.mtl.losses import Loss
from idbpd.mtl.metrics.answered import Answered
from idbpd.mtl.metrics.left_out import headline_without
from idbpd.mtl.metrics.number import measure_number
from idbpd.mtl.metrics.one_of_many import measure_classes, measure_distribution
from idbpd.mtl.metrics.sample_errors import SAMPLE_ERRORS, ErrorMeasure
from idbpd.mtl.metrics.yes_no import measure_binary, measure_labels

MEASURES: Mapping[Kind, Callable[[Answered], dict[str, float]]] = {
    "binary": measure_binary,
    "classes": measure_classes,
    "labels": measure_labels,
    "number": measure_number,
    "distribution": measure_distribution,
}

# What a summary shows of a kind, the most important first.
HEADLINE: dict[Kind, tuple[str, ...]] = {
    "binary": ("accuracy", "roc_auc"),
    "classes": ("accuracy",),
    "labels": ("roc_auc", "accuracy"),
    "number": ("mae", "r2"),
    "distribution": ("hit_rate",),
}

# Of these measures, and of every loss, less is better.
ERRORS = frozenset({"brier", "mae", "rmse"})


def task_metrics(task: Task, outputs: Tensor, loss: Loss) -> dict[str, float]:
    """The measures of a task by name, from the outputs of a network for its samples; NaN where one is not defined."""
    return MEASURES[task.meaning.kind](answered(task, outputs, loss))


def answered(task: Task, outputs: Tensor, loss: Loss) -> Answered:
    """The answers that the outputs of a network for the samples of a task mean, next to the truth."""
    return Answered(outputs, loss.answers(outputs), task.targets.double(), task.meaning.scale)


def is_better(metric: str, value: float, other: float) -> bool:
    """Whether a value of a metric or a loss is better than another one; nothing is better or worse than NaN.

    >>> is_better("accuracy", 0.9, 0.8), is_better("mae", 0.9, 0.8)
    (True, False)
    """
    if math.isnan(value) or math.isnan(other):
        return False
    return value < other if metric in ERRORS or metric.endswith("_loss") else value > other


__all__ = [
    "HEADLINE",
    "MEASURES",
    "SAMPLE_ERRORS",
    "Answered",
    "ErrorMeasure",
    "answered",
    "headline_without",
    "is_better",
    "task_metrics",
]
