"""Which rank has which samples.

Rows that belong to the same tasks are dealt in turn, so that every rank has as many rows as the others (but for one),
and of every task nearly as many samples: no rank waits long for another. Every rank computes the same deal by itself.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.sparse_rows import SparseRows


class Shard(NamedTuple):
    """The part of the data that one rank has."""

    data: MultiTaskData  # with the rows of this rank alone
    positions: tuple[Tensor, ...]  # per task: where its samples on this rank stand among all samples of the task


def deal(tasks: Sequence[Task], rows: int, ranks: int) -> Tensor:
    """The rank of every row: (rows,), int64. A ValueError says which task has too few samples for so many ranks."""
    smallest = min(tasks, key=lambda task: task.size)
    if smallest.size < ranks:
        raise ValueError(
            f"{ranks} ranks are more than the {smallest.size} samples of the task {smallest.name!r}; "
            f"choose at most {smallest.size}"
        )
    belongs = torch.zeros(rows, len(tasks), dtype=torch.bool)
    for column, task in enumerate(tasks):
        belongs[task.rows.cpu(), column] = True
    _, pattern = torch.unique(belongs, dim=0, return_inverse=True)
    owner = torch.empty(rows, dtype=torch.int64)
    owner[pattern.argsort(stable=True)] = torch.arange(rows) % ranks
    for task in tasks:
        missing = (owner[task.rows.cpu()].bincount(minlength=ranks) == 0).nonzero().flatten().tolist()
        if missing:
            raise ValueError(
                f"rank {missing[0]} of {ranks} would have no sample of the task {task.name!r}, which has "
                f"{task.size} in all; choose fewer ranks"
            )
    return owner


def shard_of(data: MultiTaskData, owner: Tensor, rank: int) -> Shard:
    """The rows of one rank, in their order, and the samples of each task among them."""
    mine = (owner == rank).nonzero(as_tuple=True)[0]
    place = torch.full((len(owner),), -1, dtype=torch.int64)
    place[mine] = torch.arange(len(mine))
    tasks, positions = [], []
    for task in data.tasks:
        at = (owner[task.rows] == rank).nonzero(as_tuple=True)[0]
        groups = None if task.groups is None else task.groups[at]
        tasks.append(replace(task, rows=place[task.rows[at]], targets=task.targets[at], groups=groups))
        positions.append(at)
    features = data.features.of_rows(mine) if isinstance(data.features, SparseRows) else data.features[mine]
    return Shard(MultiTaskData(features, tuple(tasks)), tuple(positions))
