"""How good a network is at each group of a worst case over groups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.losses import Loss
from idbpd.mtl.metrics import task_metrics
from idbpd.mtl.quality import task_logits


class GroupQuality(NamedTuple):
    """The losses of a group's samples, and the measures that people know."""

    losses: Tensor  # (samples,), float64
    metrics: Mapping[str, float]  # by name; empty where there is no sample

    @property
    def rows(self) -> int:
        """The number of samples."""
        return len(self.losses)

    @property
    def mean_loss(self) -> float:
        """The mean loss; NaN where there is no sample."""
        return self.losses.mean().item()


ByGroup = dict[str, dict[str, GroupQuality]]  # by task, for those that have groups, and by the group's name


@torch.no_grad()
def measure_groups(network: nn.Module, data: MultiTaskData, criteria: Criteria) -> ByGroup:
    """The quality of every task whose worst case is over groups, group by group."""
    return {
        task.name: _by_group(task, logits, criteria(task).loss)
        for task, logits in task_logits(network, data)
        if task.groups is not None
    }


def measure_constant_by_group(train: MultiTaskData, data: MultiTaskData, criteria: Criteria) -> ByGroup:
    """The same for the constant answers with the least mean loss on the training data."""
    found = {}
    for task in data.tasks:
        if task.groups is not None:
            loss, here = criteria(task).loss, replace(task, targets=task.targets.double())
            constant = loss.guess(train[task.name].targets.double())
            found[task.name] = _by_group(here, constant.expand_as(here.targets), loss)
    return found


def _by_group(task: Task, logits: Tensor, loss: Loss) -> dict[str, GroupQuality]:
    assert task.groups is not None
    groups = task.groups.cpu()
    return {name: _measured(task, logits, loss, groups == at) for at, name in enumerate(task.group_names)}


def _measured(task: Task, logits: Tensor, loss: Loss, members: Tensor) -> GroupQuality:
    if not members.any():  # a group may be in the training part alone
        return GroupQuality(torch.empty(0, dtype=torch.float64), {})
    part = Task(task.name, task.labels, task.rows[members], task.targets[members], task.meaning)
    losses = loss.values(logits[members], part.targets).double()
    return GroupQuality(losses, task_metrics(part, logits[members], loss))
