"""How good a network is at its tasks."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria, Criterion
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.losses import Loss
from idbpd.mtl.module_passes import ROWS_AT_A_TIME
from idbpd.mtl.ranking import average_precision, label_ranking_precision

# CVaR is the mean loss of this share of the samples, the worst ones.
TAIL = 0.05


class LabelQuality(NamedTuple):
    """How good a task is at one of its labels; NaN where no sample has it."""

    samples: int  # that have the label
    mean_loss: float  # of these samples
    hit_rate: float  # how many of them have it among their first guesses, as many guesses as they have labels
    average_precision: float  # of ranking all samples of the task by the probability of the label


class TaskQuality(NamedTuple):
    """The measures of a task.

    A sample without any label has nothing to guess and counts neither in the hit rate nor in the ranking.
    """

    mean_loss: float
    worst_case_loss: float
    maximum_loss: float
    cvar_loss: float  # the mean loss of the worst 5 % of the samples
    hit_rate: float  # how often the first guess is a true label
    ranking_precision: float  # label-ranking average precision
    labels: Mapping[str, LabelQuality]


@torch.no_grad()
def measure_quality(network: nn.Module, data: MultiTaskData, criteria: Criteria) -> dict[str, TaskQuality]:
    """The quality of every task on data, by name."""
    return {task.name: _task_quality(task, logits, criteria(task)) for task, logits in _logits(network, data)}


@torch.no_grad()
def sample_losses(network: nn.Module, data: MultiTaskData, criteria: Criteria) -> dict[str, Tensor]:
    """The loss of every sample of every task, by the task's name."""
    return {task.name: criteria(task).loss.values(logits, task.targets) for task, logits in _logits(network, data)}


def _logits(network: nn.Module, data: MultiTaskData) -> Iterator[tuple[Task, Tensor]]:
    """Every task and the logits of its samples, on the host: not every device has float64.

    Rows pass in blocks, as in training, so that measuring needs no more memory.
    """
    blocks = [[part.cpu() for part in network(features)] for features in torch.split(data.features, ROWS_AT_A_TIME)]
    for task, parts in zip(data.tasks, zip(*blocks, strict=True), strict=True):
        here = replace(task, rows=task.rows.cpu(), targets=task.targets.cpu())
        yield here, torch.cat(parts)[here.rows]


def tail_mean(losses: Tensor, share: float) -> Tensor:
    """Conditional value at risk: the mean of the largest losses that make up this share of the samples.

    Where the share is not a whole number of samples, the last sample counts in part.

    >>> tail_mean(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.375)
    tensor(3.6667, dtype=torch.float64)
    """
    size = share * len(losses)
    largest = losses.double().topk(math.ceil(size)).values
    return (largest.sum() - (len(largest) - size) * largest[-1]) / size


def _task_quality(task: Task, logits: Tensor, criterion: Criterion) -> TaskQuality:
    losses = criterion.loss.values(logits, task.targets).double()
    relevant = task.targets > 0
    labelled = relevant.any(dim=-1)
    first_guesses = relevant.gather(-1, logits.argmax(dim=-1, keepdim=True))
    return TaskQuality(
        mean_loss=losses.mean().item(),
        worst_case_loss=criterion.worst(losses).value.item(),
        maximum_loss=losses.max().item(),
        cvar_loss=tail_mean(losses, TAIL).item(),
        hit_rate=first_guesses[labelled].double().mean().item(),
        ranking_precision=label_ranking_precision(logits[labelled], relevant[labelled]).mean().item(),
        labels=_label_quality(task, criterion.loss, logits, losses, relevant),
    )


def _label_quality(task: Task, loss: Loss, logits: Tensor, losses: Tensor, relevant: Tensor) -> dict[str, LabelQuality]:
    counts = relevant.sum(dim=0)
    place = logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    guessed = relevant & (place < relevant.sum(dim=-1, keepdim=True))
    columns = (
        relevant.double().T @ losses / counts,
        guessed.sum(dim=0).double() / counts,
        average_precision(loss.answers(logits), relevant),
    )
    rows = torch.stack(columns, dim=1).tolist()
    return {
        name: LabelQuality(count, *row) for name, count, row in zip(task.labels, counts.tolist(), rows, strict=True)
    }
