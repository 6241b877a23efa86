"""Parts of a table that is larger than memory."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from idbpd.datasets.table import StoredFeatures, Target, TaskTable
from idbpd.datasets.tensor_stream import FeatureBlocks, StreamedData
from idbpd.errors import DataError
from idbpd.experiment.features import fit_encoding, scaling_for
from idbpd.experiment.features.sparse_matrix import SparseBlocks, fit_sparse
from idbpd.experiment.features.stored import EncodedBlocks, fit_stored
from idbpd.experiment.splitting.dense_room import has_room
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.grouping import Grouping
from idbpd.experiment.splitting.part_tasks import tasks_of_parts
from idbpd.experiment.splitting.row_split import drawn_rows
from idbpd.mtl import FeatureScaling, MultiTaskData, Task

Rows = NDArray[np.intp]
VALIDATION = 1  # another draw than that of the test part


class StoredParts(NamedTuple):
    """The tasks over the rows to learn from and over held-out rows; features are made when they are saved."""

    train: StreamedData
    held_out: StreamedData
    scaling: FeatureScaling
    encoding: dict[str, Any]
    groupings: list[Grouping | None]


def stored_parts(table: TaskTable, targets: list[Target], rows: tuple[Rows, Rows], division: Division) -> StoredParts:
    """The same as for a table in memory; see `idbpd.experiment.splitting.table_split.make_parts`."""
    features, kind = table.features, scaling_for(table, division.features.scaling)
    blocks: list[FeatureBlocks]
    if isinstance(features, StoredFeatures):
        encoding, scaling = fit_stored(features, rows[0], kind)
        blocks = [EncodedBlocks(features, part, encoding, scaling) for part in rows]
    else:
        assert isinstance(features, csr_array)
        scaling = fit_sparse(features, rows[0], kind, table.origin.name)
        encoding = fit_encoding(table, rows[0])
        blocks = [SparseBlocks(features, part, scaling) for part in rows]
    made = tasks_of_parts(table, targets, rows, division)
    train, held_out = (
        StreamedData(of_part, tasks) for of_part, tasks in zip(blocks, (made.train, made.held_out), strict=True)
    )
    return StoredParts(train, held_out, scaling, encoding, made.groupings)


def is_streamed(table: TaskTable) -> bool:
    """Whether the features of a table are made when they are saved: with their zeros they do not fit into memory."""
    return isinstance(table.features, StoredFeatures) or not has_room(table)


def divided(
    train: MultiTaskData, table: TaskTable, rows: Rows, fraction: float, seed: int
) -> tuple[MultiTaskData, MultiTaskData]:
    """The training part of a streamed table, divided once more.

    Both parts are rows of the same features, which are in a file. So they are encoded and scaled with the validation
    rows in view, unlike those of a table in memory: of so many rows, a mean and a median hardly depend on a part.
    """
    number = rows if table.groups is None else table.groups[rows]
    held_out = torch.from_numpy(drawn_rows(number, fraction, seed, VALIDATION))
    return _part(train, ~held_out), _part(train, held_out)


def _part(data: MultiTaskData, chosen: torch.Tensor) -> MultiTaskData:
    return MultiTaskData(data.features, tuple(_task(task, chosen) for task in data.tasks))


def _task(task: Task, chosen: torch.Tensor) -> Task:
    members = chosen[task.rows].nonzero(as_tuple=True)[0]
    if len(members) == 0:
        raise DataError(f"no sample of the {task.name} task is in one of the two parts; choose another fraction")
    return replace(
        task,
        rows=task.rows[members],
        targets=task.targets[members],
        groups=None if task.groups is None else task.groups[members],
    )
