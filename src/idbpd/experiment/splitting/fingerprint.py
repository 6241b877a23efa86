"""Digests of a data set and of its split."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from idbpd.datasets.table import StoredFeatures, Target, TaskTable
from idbpd.experiment.records.provenance import tensors_sha256
from idbpd.experiment.splitting.grouping import Grouping
from idbpd.mtl import FeatureScaling, MultiTaskData, SparseRows

ROWS_AT_ONCE = 1024
# The options of a task that decide what is learnt. Slack and limit are applied afterwards.
DECISIVE = ("loss", "worst_case")


def data_sha256(table: TaskTable) -> str:
    """SHA-256 of names, features, labels, targets, groups and positions; sparse and dense features give the same.

    Of features that stay in Parquet files, the bytes of their row groups count: those of files that have not changed
    need not be read again.
    """
    names = {"features": table.feature_names, "labels": table.label_names, "positions": list(table.positions)}
    digest = hashlib.sha256(_text(names))
    if isinstance(table.features, StoredFeatures):
        digest.update(_text([table.features.roles(), table.features.sha256()]))
    elif isinstance(table.features, tuple):
        for column in table.features:
            digest.update(_text([column.role, column.categories]))
            digest.update(_bytes(column.values, "<f8"))
    else:
        for begin in range(0, len(table), ROWS_AT_ONCE):
            digest.update(_bytes(table.dense_features(slice(begin, begin + ROWS_AT_ONCE)), "<f4"))
    for target in table.targets:
        digest.update(_text([target.task, target.kind, target.outputs, target.other]))
        digest.update(_bytes(target.values, "<f4"))
    for name, column in table.grouping.items():
        digest.update(_text([name, column.role, column.categories]))
        digest.update(_bytes(column.values, "<f8"))
    digest.update(_bytes(table.labels, "<i1"))
    for numbers in ([] if table.groups is None else [table.groups]) + list(table.positions.values()):
        digest.update(_bytes(numbers, "<i8"))
    return digest.hexdigest()


def split_sha256(
    data: str,
    targets: list[Target],
    rows: dict[str, NDArray[np.intp]],
    unlabelled: str,
    scaling: FeatureScaling,
    groupings: Sequence[Grouping | None] = (),
) -> str:
    """SHA-256 of the data's digest and all that was done with them before training: tasks, rows, scaling and groups.

    Slack and limit of a task are no part of it: they do not change what calibration finds, which can be used again.
    """
    tasks = [
        (target.task, target.kind, target.outputs, *(target.options.get(option) for option in DECISIVE))
        for target in targets
    ]
    digest = hashlib.sha256(_text([data, tasks, unlabelled, list(rows)]))
    for target in targets:
        digest.update(_bytes(target.values, "<f4"))
    for grouping in groupings:
        if grouping is not None:
            digest.update(_text([grouping.columns, grouping.names]))
            digest.update(_bytes(grouping.codes, "<i8"))
    for part in rows.values():
        digest.update(_bytes(part, "<i8"))
    for tensor in (scaling.center, scaling.scale):
        digest.update(_bytes(tensor.numpy(), "<f4"))
    return digest.hexdigest()


def parts_sha256(*parts: MultiTaskData) -> str:
    """SHA-256 of tasks over parts of the training rows, with all that decides what is learnt from them."""
    tensors: dict[str, Tensor] = {}
    for at, data in enumerate(parts):
        features = data.features
        if isinstance(features, SparseRows):
            of_rows = {"begins": features.begins, "columns": features.columns, "values": features.values}
            tensors |= {f"{at} features {name}": tensor for name, tensor in of_rows.items()}
        else:
            tensors[f"{at} features"] = features
        for task in data.tasks:
            chosen = [task.options.get(option) for option in DECISIVE]
            tensors[f"{at} {task.name} {task.labels} {task.meaning.kind} {chosen} rows"] = task.rows
            tensors[f"{at} {task.name} targets"] = task.targets
            if task.groups is not None:
                tensors[f"{at} {task.name} groups"] = task.groups
    return tensors_sha256(tensors)


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


def _bytes(array: NDArray[Any], kind: str) -> bytes:
    # The same on machines of either byte order, and for a negative zero as for zero.
    return (np.ascontiguousarray(array, dtype=kind) + np.zeros((), dtype=kind)).tobytes()
