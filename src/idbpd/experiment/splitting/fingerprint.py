"""Digests of a data set and of its split."""

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import TaskTable
from idbpd.experiment.splitting.label_split import TaskLabels
from idbpd.mtl import FeatureScaling

ROWS_AT_ONCE = 1024


def data_sha256(table: TaskTable) -> str:
    """SHA-256 of names, features, labels, groups and positions; sparse and dense features give the same."""
    names = {"features": table.feature_names, "labels": table.label_names, "positions": list(table.positions)}
    digest = hashlib.sha256(_text(names))
    for begin in range(0, len(table), ROWS_AT_ONCE):
        digest.update(_bytes(table.dense_features(slice(begin, begin + ROWS_AT_ONCE)), "<f4"))
    digest.update(_bytes(table.labels, "<i1"))
    for column in ([] if table.groups is None else [table.groups]) + list(table.positions.values()):
        digest.update(_bytes(column, "<i8"))
    return digest.hexdigest()


def split_sha256(
    data: str, tasks: list[TaskLabels], rows: dict[str, NDArray[np.intp]], unlabelled: str, scaling: FeatureScaling
) -> str:
    """SHA-256 of the data's digest and all that was done with them before training: tasks, rows and scaling."""
    digest = hashlib.sha256(_text([data, [(task.name, task.labels) for task in tasks], unlabelled, list(rows)]))
    for task in tasks:
        digest.update(_bytes(task.positives, "<i1"))
    for part in rows.values():
        digest.update(_bytes(part, "<i8"))
    for tensor in (scaling.center, scaling.scale):
        digest.update(_bytes(tensor.numpy(), "<f4"))
    return digest.hexdigest()


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


def _bytes(array: NDArray[Any], kind: str) -> bytes:
    # The same on machines of either byte order, and for a negative zero as for zero.
    return (np.ascontiguousarray(array, dtype=kind) + np.zeros((), dtype=kind)).tobytes()
