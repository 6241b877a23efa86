"""How good a network is at its tasks."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.mtl.chance import spreads
from idbpd.mtl.criterion import Criteria, Criterion
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.kinds import Kind
from idbpd.mtl.losses import Loss
from idbpd.mtl.metrics import HEADLINE, SAMPLE_ERRORS, answered, task_metrics
from idbpd.mtl.metrics.macro import by_label
from idbpd.mtl.metrics.yes_no import says_yes
from idbpd.mtl.module_passes import ROWS_AT_A_TIME
from idbpd.mtl.pieces import loss_values
from idbpd.mtl.ranking import average_precision

# CVaR is the mean loss of this share of the samples, the worst ones.
TAIL = 0.05


class LabelQuality(NamedTuple):
    """How good a task is at one of its labels; NaN where no sample has it."""

    samples: int  # that have the label
    mean_loss: float  # of these samples
    # How many of them are recognised. Independent labels: the answer is yes. Else: the label is among the first
    # guesses, as many guesses as the sample has labels.
    hit_rate: float
    average_precision: float  # of ranking all samples of the task by the probability of the label


class TaskQuality(NamedTuple):
    """The measures of a task: losses, which training sees, and measures that people know (`idbpd.mtl.metrics`)."""

    kind: Kind
    mean_loss: float
    worst_case_loss: float
    maximum_loss: float
    cvar_loss: float  # the mean loss of the worst 5 % of the samples
    metrics: Mapping[str, float]  # by name; NaN where one is not defined
    labels: Mapping[str, LabelQuality]  # by name; none for a number
    spreads: Mapping[str, list[float]] = MappingProxyType(
        {}
    )  # pseudo-values, which show what may be chance (`idbpd.mtl.chance`); empty if not asked for

    @property
    def headline(self) -> tuple[str, float]:
        """The name and the value of the first measure that people ask for."""
        name = HEADLINE[self.kind][0]
        return name, self.metrics[name]

    @property
    def values(self) -> dict[str, float]:
        """Losses and measures side by side, by name."""
        losses = {name: getattr(self, name) for name in LOSS_MEASURES}
        return {**losses, **self.metrics}


LOSS_MEASURES = ("mean_loss", "worst_case_loss", "maximum_loss", "cvar_loss")


@torch.no_grad()
def measure_quality(
    network: nn.Module, data: MultiTaskData, criteria: Criteria, *, with_spreads: bool = False
) -> dict[str, TaskQuality]:
    """The quality of every task on data, by name; with pseudo-values (`idbpd.mtl.chance`) if asked for."""
    found = {}
    for task, logits in task_logits(network, data):
        quality = task_quality(task, logits, criteria(task))
        found[task.name] = quality._replace(spreads=spreads(task, logits, criteria(task))) if with_spreads else quality
    return found


@torch.no_grad()
def sample_losses(
    network: nn.Module, data: MultiTaskData, criteria: Criteria, tasks: Iterable[str] | None = None
) -> dict[str, Tensor]:
    """The loss of every sample of every task, or of some tasks, by the task's name."""
    chosen = None if tasks is None else set(tasks)
    return {
        task.name: loss_values(criteria(task).loss, logits, task.targets)
        for task, logits in task_logits(network, data, chosen)
    }


@torch.no_grad()
def sample_errors(network: nn.Module, data: MultiTaskData, task: str, measure: str, criteria: Criteria) -> Tensor:
    """The errors whose mean a measure of a task is (`idbpd.mtl.metrics.SAMPLE_ERRORS`), one per sample that counts."""
    here, logits = next(task_logits(network, data, {task}))
    return SAMPLE_ERRORS[here.meaning.kind][measure].errors(answered(here, logits, criteria(here).loss))


def task_logits(
    network: nn.Module, data: MultiTaskData, chosen: Container[str] | None = None
) -> Iterator[tuple[Task, Tensor]]:
    """Every task, or those that are chosen, and the logits of its samples, on the host: not every device has float64.

    Rows pass in blocks, as in training, so that measuring needs no more memory.
    """
    weight = next(network.parameters(), data.features)  # features that are many are not in its floating-point type
    tasks = [task if chosen is None or task.name in chosen else None for task in data.tasks]
    outputs: list[Tensor | None] = [None] * len(tasks)
    for begin in range(0, max(1, len(data.features)), ROWS_AT_A_TIME):
        parts = network(data.features[begin : begin + ROWS_AT_A_TIME].to(weight.dtype))
        for at, (task, part) in enumerate(zip(tasks, parts, strict=True)):
            if task is None:
                continue
            if begin == 0:
                outputs[at] = torch.empty(len(data.features), part.shape[1], dtype=part.dtype)
            whole = outputs[at]
            assert whole is not None
            whole[begin : begin + len(part)] = part
    for at, task in enumerate(tasks):
        whole, outputs[at] = outputs[at], None  # one task at a time: what was measured may go
        if task is not None and whole is not None:
            here = replace(task, rows=task.rows.cpu(), targets=task.targets.cpu())
            whole = whole[here.rows]
            yield here, whole


def tail_mean(losses: Tensor, share: float) -> Tensor:
    """Conditional value at risk: the mean of the largest losses that make up this share of the samples.

    Where the share is not a whole number of samples, the last sample counts in part.

    >>> tail_mean(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.375)
    tensor(3.6667, dtype=torch.float64)
    """
    size = share * len(losses)
    largest = losses.double().topk(math.ceil(size)).values
    return (largest.sum() - (len(largest) - size) * largest[-1]) / size


def task_quality(task: Task, logits: Tensor, criterion: Criterion) -> TaskQuality:
    """The quality of given outputs, (samples, outputs), for the samples of a task."""
    losses = loss_values(criterion.loss, logits, task.targets).double()
    return TaskQuality(
        kind=task.meaning.kind,
        mean_loss=losses.mean().item(),
        worst_case_loss=criterion.worst(losses).value.item(),
        maximum_loss=losses.max().item(),
        cvar_loss=tail_mean(losses, TAIL).item(),
        metrics=task_metrics(task, logits, criterion.loss),
        labels={} if task.meaning.kind == "number" else _label_quality(task, criterion.loss, logits, losses),
    )


def _label_quality(task: Task, loss: Loss, logits: Tensor, losses: Tensor) -> dict[str, LabelQuality]:
    relevant = task.targets > 0  # an unknown target (NaN) is not
    counts = relevant.sum(dim=0)
    answers = loss.answers(logits)
    columns = (
        relevant.double().T @ losses / counts,
        (relevant & _guessed(task, logits, answers)).sum(dim=0).double() / counts,
        by_label(average_precision, answers, task.targets),
    )
    rows = torch.stack(columns, dim=1).tolist()
    return {
        name: LabelQuality(count, *row) for name, count, row in zip(task.labels, counts.tolist(), rows, strict=True)
    }


def _guessed(task: Task, logits: Tensor, answers: Tensor) -> Tensor:
    """Which labels of each sample count as recognised if they are true."""
    if task.meaning.kind in ("binary", "labels"):
        return says_yes(answers)
    place = logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return place < (task.targets > 0).sum(dim=-1, keepdim=True)
