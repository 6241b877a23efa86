"""The worst weights of samples that are spread over ranks: each rank finds those of its own samples.

The weight of a sample is a function of its loss and of a few numbers that are the same for all samples, such as a
threshold. These numbers are found by adding up over all ranks a few sums at a time, for all tasks at once. A worst
case of the user's own, of which nothing is known but its maximiser, gets the losses of all samples together; and so
does every worst case of few samples, where one longer message is faster than a dozen short ones.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from idbpd.mtl.sharded.reduction import Reduction
from idbpd.mtl.worst_cases import GroupMixture, WorstCase, worst_weighting
from idbpd.optim.sets.simplex_projection import project_onto_simplex


class Samples(NamedTuple):
    """The samples of one task on this rank."""

    worst_case: WorstCase  # over all samples of the task
    positions: Tensor  # of this rank's samples among all samples of the task
    size: int  # the number of all samples of the task


class Weighted(NamedTuple):
    """The weights of the samples on this rank, and the price of all weights."""

    weights: Tensor  # float64
    price: float = 0.0
    per_square: float = 0.0  # a price for each unit of sum_i (y_i - 1/n)^2 over all samples
    value: float | None = None  # of the worst case, where this rank knows it already


class Finder(Protocol):
    """Finds the worst weights of some tasks."""

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """The weights for the losses of the samples on this rank, float64, task by task."""
        ...


class Equal:
    """The weights of `Mean`."""

    def __init__(self, tasks: Sequence[Samples]) -> None:
        """Only the sizes count."""
        self._sizes = [task.size for task in tasks]

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:  # noqa: ARG002
        """1/n."""
        return [Weighted(torch.full_like(one, 1 / size)) for one, size in zip(losses, self._sizes, strict=True)]


class Mixtures:
    """The worst weights of `GroupMixture`: one message has the sums of all groups, and all ranks project alike."""

    def __init__(self, tasks: Sequence[Samples]) -> None:
        """Count the samples of each group, of which every rank knows all."""
        self._tasks: list[tuple[float, Tensor, Tensor]] = []
        for worst_case, positions, _ in tasks:
            assert isinstance(worst_case, GroupMixture)
            count = len(worst_case.group_names)
            counts = worst_case.membership.cpu().bincount(minlength=count).double()
            self._tasks.append((worst_case.smoothing, worst_case.membership[positions], counts))

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """An equal part of the weight of its group for every sample."""
        parts = []
        for one, (_, groups, counts) in zip(losses, self._tasks, strict=True):
            at = groups.to(one.device)
            parts.append(one.new_zeros(len(counts)).index_add_(0, at, one).cpu())
        ends = list(accumulate(len(part) for part in parts))[:-1]
        totals = over.add(torch.cat(parts)).tensor_split(ends)
        found = []
        for one, total, (smoothing, groups, counts) in zip(losses, totals, self._tasks, strict=True):
            present = counts > 0
            means = torch.where(present, total / counts, -torch.inf)
            mixture = project_onto_simplex((means - means.amax()) / smoothing)
            price = smoothing / 2 * ((mixture - present / present.sum()) ** 2).sum()
            of_sample = mixture / counts.clamp(min=1)
            found.append(Weighted(of_sample.to(one.device)[groups.to(one.device)], float(price)))
        return found


class Gathered:
    """Of any other worst case, or of few samples: every rank gets all losses, 8 bytes for each sample, in one message,
    and finds all weights by itself.
    """

    def __init__(self, tasks: Sequence[Samples]) -> None:
        """Keep the worst cases over all samples."""
        self._tasks = tasks

    def find(self, losses: Sequence[Tensor], over: Reduction) -> list[Weighted]:
        """The weights of all samples, of which each rank keeps its own."""
        sizes = [task.size for task in self._tasks]
        whole = torch.zeros(sum(sizes), dtype=torch.float64)
        for one, (_, positions, _), part in zip(losses, self._tasks, torch.split(whole, sizes), strict=True):
            part.index_copy_(0, positions, one.cpu())
        found = []
        for one, (worst_case, positions, _), everyone in zip(
            losses, self._tasks, torch.split(over.add(whole), sizes), strict=True
        ):
            weights, value = worst_weighting(everyone, worst_case)
            found.append(Weighted(weights[positions].to(one.device), value=float(value)))
        return found
