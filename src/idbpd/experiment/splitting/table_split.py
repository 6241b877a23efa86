"""From a table to a training and a test part: the samples are split by rows, the labels into tasks."""

import logging
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError
from idbpd.experiment.parameters import FeatureParameters, SplitParameters
from idbpd.experiment.splitting.fingerprint import data_sha256, split_sha256
from idbpd.experiment.splitting.label_split import TaskLabels, split_labels
from idbpd.experiment.splitting.row_split import TEST, Part, split_rows
from idbpd.mtl import FeatureScaling, MultiTaskData, Task, fit_scaling

logger = logging.getLogger(__name__)

# Beyond this a tanh unit with torch's initial weights is as good as constant, and does not learn.
LARGE_FEATURE = 100.0


class TableSplit(NamedTuple):
    """The parts of a table, and how they were made."""

    train: MultiTaskData
    test: MultiTaskData
    scaling: dict[str, Tensor]  # of the features
    rows: dict[str, Tensor]  # of the table, by part
    fingerprint: dict[str, str]


def split(table: TaskTable, parameters: SplitParameters, features: FeatureParameters) -> TableSplit:
    """Training and test data of the tasks, how their features were scaled, their rows, and the fingerprint of all."""
    tasks = split_labels(table, parameters.by, parameters.tasks)
    train_rows, test_rows = split_rows(table, parameters.test_fraction, parameters.seed)
    train, test, scaling = make_parts(table, tasks, (train_rows, test_rows), parameters, features)
    if (train.features == train.features[:1]).all():
        logger.warning("all training samples have the same features: no network can tell them apart")
    _hint_at_single_classes(train)
    _hint_at_scaling(table, train.features, features)
    _report(tasks, train, test, parameters)
    content = data_sha256(table)
    rows = {"train": train_rows, "test": test_rows}
    fingerprint = {
        "data_sha256": content,
        "split_sha256": split_sha256(content, tasks, rows, parameters.unlabelled, scaling),
    }
    kept = {part: torch.from_numpy(numbers.astype(np.int64)) for part, numbers in rows.items()}
    return TableSplit(train, test, dict(scaling.named_buffers()), kept, fingerprint)


def make_parts(
    table: TaskTable,
    tasks: list[TaskLabels],
    rows: tuple[NDArray[np.intp], NDArray[np.intp]],
    parameters: SplitParameters,
    features: FeatureParameters,
    held_out: Part = TEST,
) -> tuple[MultiTaskData, MultiTaskData, FeatureScaling]:
    """The tasks over the rows to learn from and the held-out rows; the former alone decide how features are scaled."""
    raw, raw_held_out = (torch.from_numpy(table.dense_features(part)) for part in rows)
    scaling = fit_scaling(raw, features.scaling)
    keep = parameters.unlabelled == "keep"
    return (
        MultiTaskData(scaling(raw), _tasks(tasks, rows[0], held_out._replace(name="training"), keep)),
        MultiTaskData(scaling(raw_held_out), _tasks(tasks, rows[1], held_out, keep)),
        scaling,
    )


def _tasks(tasks: list[TaskLabels], rows: NDArray[np.intp], part: Part, keep_unlabelled: bool) -> tuple[Task, ...]:
    """The tasks over one part of the table; a task keeps the samples with at least one of its labels, or all."""
    made = []
    for task in tasks:
        positives = torch.from_numpy(task.positives[rows]).float()
        labelled = positives.any(dim=1)
        if not labelled.any():
            raise DataError(
                f"no sample of the {part.name} part has a label of the {task.name} task ({', '.join(task.labels)}); "
                f"choose other labels for it, or another {part.parameter}"
            )
        members = torch.arange(len(positives)) if keep_unlabelled else labelled.nonzero(as_tuple=True)[0]
        chosen = positives[members]
        made.append(Task(task.name, task.labels, members, chosen / chosen.sum(dim=1, keepdim=True).clamp(min=1)))
    return tuple(made)


def _report(tasks: list[TaskLabels], train: MultiTaskData, test: MultiTaskData, parameters: SplitParameters) -> None:
    for task, part, held_out in zip(tasks, train.tasks, test.tasks, strict=True):
        parts = f"{part.size} training and {held_out.size} test samples"
        logger.info(
            "%s task: labels %s; %d samples with one of them%s: %s",
            task.name,
            ", ".join(task.labels),
            task.labelled.sum(),
            ", and those without are kept" if parameters.unlabelled == "keep" else "",
            parts if parameters.test_fraction > 0 else "all for training",
        )


def _hint_at_single_classes(train: MultiTaskData) -> None:
    for task in train.tasks:
        seen = [
            label for label, found in zip(task.labels, (task.targets > 0).any(dim=0).tolist(), strict=True) if found
        ]
        if len(seen) == 1:
            logger.warning(
                "all training samples of the %s task have the same label, %s: a network that always predicts it is "
                "perfect, and a limit on it means nothing; choose another split.seed or other labels for the task",
                task.name,
                seen[0],
            )


def _hint_at_scaling(table: TaskTable, features: Tensor, parameters: FeatureParameters) -> None:
    largest, column = features.abs().amax(dim=0).max(dim=0)
    if parameters.scaling == "none" and largest > LARGE_FEATURE:
        logger.info(
            "feature %r reaches %g; with features.scaling=standard it would be of the same size as the others",
            table.feature_names[int(column)],
            largest.item(),
        )
