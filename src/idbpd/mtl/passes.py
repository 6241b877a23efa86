"""What the robust problem asks of a network: logits of its tasks, and gradients back from them.

Logits stand label by label, (labels, samples): a softmax over few labels is then a handful of operations on long
vectors, ten times as fast as one short softmax per sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from idbpd.mtl.data import Task
from idbpd.mtl.losses import Loss
from idbpd.mtl.pieces import loss_slopes, pieces


class Cotangent(NamedTuple):
    """The derivative of one number with respect to the logits of one task."""

    samples: Tensor | None  # (k,): the samples that the values belong to; None: all samples of the task
    values: Tensor  # (labels, k)


def weighted_cotangent(loss: Loss, logits: Tensor, targets: Tensor, weights: Tensor, *, dense: bool) -> Cotangent:
    """The derivative of sum_i weights_i loss_i in the logits; unless dense, of the samples with weight alone."""
    if dense:
        return Cotangent(None, weights * loss_slopes(loss, logits, targets, dim=0))
    support = weights.nonzero(as_tuple=True)[0]
    values = logits.new_empty(len(logits), len(support))
    for piece in pieces(len(support)):
        some = support[piece]
        slope = loss.slope(logits[:, some], targets[:, some], dim=0)
        values[:, piece] = weights[some] * slope
    return Cotangent(support, values)


class Passes(Protocol):
    """A forward pass over the samples of some tasks, and backward passes that begin where it ended."""

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        ...

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Logits per task, (labels, samples of the task), of the network with the weights ``x``; no graph is kept."""
        ...

    def backward(self, cotangents: Sequence[Cotangent]) -> Tensor:
        """The gradient of one number per task in x, at the x of the last forward pass: (tasks, len(x))."""
        ...


@dataclass(frozen=True)
class Union:
    """The samples that at least one of several tasks sees: a network passes each of them once."""

    rows: Tensor | None  # rows of the features; None: all of them, in their order
    size: int
    positions: tuple[Tensor, ...]  # of each task's samples in the union

    @cached_property
    def members(self) -> tuple[Tensor, ...]:
        """Where each position is in the task; where the task does not see it, the task's size."""
        found = []
        for position in self.positions:
            member = position.new_full((self.size,), len(position))
            member[position] = torch.arange(len(position), device=position.device)
            found.append(member)
        return tuple(found)


# Rows are picked only where fewer than this share of them is needed: picking costs more than a few needless rows.
WORTH_PICKING = 0.75


def sees_every_row(tasks: Sequence[Task], samples: int) -> bool:
    """Whether so few rows belong to no task that all rows are passed."""
    return max(task.size for task in tasks) > WORTH_PICKING * samples or (
        int(_seen(tasks, samples).sum()) > WORTH_PICKING * samples
    )


def union_of(tasks: Sequence[Task], samples: int, *, every_row: bool | None = None) -> Union:
    """The union of the tasks' samples, or all rows; None: as `sees_every_row` decides."""
    if sees_every_row(tasks, samples) if every_row is None else every_row:
        return Union(None, samples, tuple(task.rows for task in tasks))
    seen = _seen(tasks, samples)
    rows = seen.nonzero(as_tuple=True)[0]
    place = torch.cumsum(seen, dim=0) - 1
    return Union(rows, len(rows), tuple(place[task.rows] for task in tasks))


def _seen(tasks: Sequence[Task], samples: int) -> Tensor:
    seen = torch.zeros(samples, dtype=torch.bool, device=tasks[0].rows.device)
    for task in tasks:
        seen[task.rows] = True
    return seen


def in_union(union: Union, task: int, cotangent: Cotangent) -> Tensor:
    """The cotangent with one column per sample of the union, zero for samples that it does not have."""
    values, places = cotangent.values, union.positions[task]
    if cotangent.samples is None and values.device.type != "cpu":
        # Picked by a fixed map rather than written to places: repeatable on every device.
        padded = torch.cat([values, values.new_zeros(len(values), 1)], dim=1)
        return padded.index_select(1, union.members[task])
    whole = values.new_zeros(len(values), union.size)
    for piece in pieces(values.shape[1]):
        here = places[piece] if cotangent.samples is None else places[cotangent.samples[piece]]
        whole[:, here] = values[:, piece]
    return whole
