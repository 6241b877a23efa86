r"""Any mixture of groups of samples: the mean loss of the worst group, smoothed.

For G groups with mean losses m_g and a smoothing s it is

.. math:: \max_{q \in \Delta_G} \sum_g q_g m_g - \frac{s}{2} \|q - 1/G\|^2 ,

and a sample of group g, which has n_g samples, has the weight q_g / n_g. The maximiser is the projection of m / s onto
the simplex. Without the last term it is the largest of the G means, which has a kink wherever two groups are equally
bad, and there the best models are. The term is at most s (1 - 1/G) / 2 <= s / 2, so the value is below the largest mean
by at most this. A group without samples has no weight.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from idbpd.mtl.data import Task
from idbpd.mtl.worst_cases.protocol import WorstCase
from idbpd.mtl.worst_cases.words import rounded_up
from idbpd.optim.sets.simplex_projection import project_onto_simplex

SMOOTHING = 0.03


@final
@dataclass(frozen=True)
class Groups:
    """Any mixture of the groups of ``columns``: one column, or several that are crossed (a list, or a+b)."""

    columns: str | tuple[str, ...]
    smoothing: float = SMOOTHING

    def __post_init__(self) -> None:
        """Reject what names no column, and a smoothing for which the maximiser is not unique."""
        if not self.names:
            raise ValueError("groups names no column; write groups: region, or groups: [sex, race]")
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"groups names a column twice: {', '.join(self.names)}")
        if not self.smoothing > 0:
            raise ValueError(f"smoothing must be positive, got {self.smoothing}; {SMOOTHING} is the default")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, one by one."""
        if isinstance(self.columns, str):
            return tuple(name for name in self.columns.split("+") if name)
        return tuple(self.columns)

    def for_task(self, task: Task) -> WorstCase:
        """The worst case over the groups that the task's samples belong to."""
        if task.groups is None:
            raise ValueError(f"the samples of the task {task.name!r} have no groups of {' x '.join(self.names)}")
        return GroupMixture(task.groups, task.group_names, self.names, self.smoothing)


@final
@dataclass(frozen=True, eq=False)
class GroupMixture:
    """Any mixture of the groups that the samples of one task belong to."""

    membership: Tensor  # (n,), int64, the group of each sample
    group_names: tuple[str, ...]
    columns: tuple[str, ...]
    smoothing: float = SMOOTHING

    def maximiser(self, losses: Tensor, samples: Tensor | None = None) -> Tensor:
        """Every sample has an equal part of the weight of its group."""
        groups = self._groups(losses, samples)
        counts = self._sums(torch.ones_like(losses), groups)
        means = torch.where(counts > 0, self._sums(losses, groups) / counts, -torch.inf)
        mixture = project_onto_simplex((means - means.amax(dim=-1, keepdim=True)) / self.smoothing)
        return (mixture / counts.clamp(min=1)).gather(-1, groups)

    def price(self, weights: Tensor, samples: Tensor | None = None) -> Tensor:
        """(smoothing / 2) ||q - 1/G||^2, with the weight q of each of the G groups that have samples."""
        groups = self._groups(weights, samples)
        present = self._sums(torch.ones_like(weights), groups) > 0
        uniform = present / present.sum(dim=-1, keepdim=True)
        return self.smoothing / 2 * ((self._sums(weights, groups) - uniform) ** 2).sum(dim=-1)

    def protects(self, task: str, size: int) -> str:
        """The groups, in words."""
        # Those without a sample are known by name only.
        count = int((self.membership.bincount() > 0).sum())
        error = rounded_up(self.smoothing * (1 - 1 / count) / 2) if count > 1 else "0"
        return (
            f"whatever mixture of the {count} groups of {' x '.join(self.columns)} the {size} samples of {task} come "
            f"from: the mean loss of the worst group (at most {error} above the stated value, by smoothing)"
        )

    def _groups(self, like: Tensor, samples: Tensor | None) -> Tensor:
        """The group of each entry of ``like``, in its shape."""
        membership = self.membership.to(like.device)
        return membership.expand(like.shape) if samples is None else membership[samples]

    def _sums(self, values: Tensor, groups: Tensor) -> Tensor:
        """The sum of each group: (..., groups)."""
        count = len(self.group_names)
        rows = values.numel() // values.shape[-1]
        # One long vector, because only its sums come in a fixed order on every device.
        first = torch.arange(rows, device=values.device)[:, None] * count
        at = (groups.reshape(rows, -1) + first).reshape(-1)
        sums = values.new_zeros(rows * count).index_add_(0, at, values.reshape(-1))
        return sums.reshape(*values.shape[:-1], count)
