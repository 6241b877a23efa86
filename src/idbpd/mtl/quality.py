"""How good a network is at a task, apart from how well it was optimised."""

from typing import NamedTuple

import torch
from torch import nn

from idbpd.mtl.data import MultiTaskData
from idbpd.mtl.losses import cross_entropy
from idbpd.mtl.worst_case import worst_case


class TaskQuality(NamedTuple):
    """What people ask of a task: its mean and worst-case loss, and how often the first guess is a true label.

    A sample without any label has nothing to guess and does not count in the hit rate.
    """

    mean_loss: float
    worst_case_loss: float
    hit_rate: float


@torch.no_grad()
def measure_quality(network: nn.Module, data: MultiTaskData, regularisation: float) -> dict[str, TaskQuality]:
    """The quality of every task on data, by name."""
    quality = {}
    for task, all_logits in zip(data.tasks, network(data.features), strict=True):
        logits = all_logits[task.rows]
        losses = cross_entropy(logits, task.targets)
        guesses = logits.argmax(dim=-1, keepdim=True)
        hits = (task.targets.gather(-1, guesses) > 0)[task.targets.any(dim=-1)]
        quality[task.name] = TaskQuality(
            mean_loss=losses.mean().item(),
            worst_case_loss=worst_case(losses, regularisation).value.item(),
            hit_rate=hits.double().mean().item(),
        )
    return quality
