"""Split the samples into train and test, and the labels into tasks."""

import logging

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit

from idbpd.datasets.table import GROUP_COLUMN, feature_columns, label_columns, label_name
from idbpd.errors import DataError
from idbpd.mtl import MultiTaskData, Task
from idbpd.pipelines.parameters import SplitParameters

logger = logging.getLogger(__name__)

PRIORITY, CONSTRAINT = "priority", "constraint"


def split(table: pd.DataFrame, parameters: SplitParameters) -> tuple[MultiTaskData, MultiTaskData]:
    """Training and test data of the two tasks: the first half of the labels has priority, the second is limited."""
    train_rows, test_rows = _split_rows(table, parameters)
    train, test = _tasks(table.iloc[train_rows], "training"), _tasks(table.iloc[test_rows], "test")
    for task, held_out in zip(train.tasks, test.tasks, strict=True):
        logger.info(
            "%s task: labels %s; %d training and %d test samples",
            task.name,
            ", ".join(task.labels),
            task.size,
            held_out.size,
        )
    return train, test


def _split_rows(table: pd.DataFrame, parameters: SplitParameters) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows for training and testing, groups kept whole. Without a test part the training data are what is measured."""
    if parameters.test_fraction == 0:
        rows = np.arange(len(table))
        return rows, rows
    groups = table[GROUP_COLUMN] if GROUP_COLUMN in table else np.arange(len(table))
    splitter = GroupShuffleSplit(n_splits=1, test_size=parameters.test_fraction, random_state=parameters.seed)
    train, test = next(splitter.split(table, groups=groups))
    return train, test


def _tasks(table: pd.DataFrame, part: str) -> MultiTaskData:
    """The tasks over one part of the table; a task keeps the samples with at least one of its labels."""
    features = torch.from_numpy(table[feature_columns(table)].to_numpy(dtype=np.float32, copy=True))
    labels = label_columns(table)
    half = len(labels) // 2
    tasks = []
    for name, columns in ((PRIORITY, labels[:half]), (CONSTRAINT, labels[half:])):
        positives = torch.from_numpy(table[columns].to_numpy(dtype=np.float32, copy=True))
        rows = positives.any(dim=1).nonzero(as_tuple=True)[0]
        if len(rows) == 0:
            raise DataError(f"no sample of the {part} part has a label of the {name} task ({', '.join(columns)})")
        targets = positives[rows] / positives[rows].sum(dim=1, keepdim=True)
        tasks.append(Task(name, tuple(label_name(column) for column in columns), rows, targets))
    return MultiTaskData(features, tuple(tasks))
