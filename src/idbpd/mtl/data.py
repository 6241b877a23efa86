"""The data of several tasks over one shared table of features."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from idbpd.mtl.kinds import DISTRIBUTION, Meaning
from idbpd.mtl.sparse_rows import Features

# A table of features with more numbers than this is not copied to another floating-point type: 1 GB in float64.
MOST_CONVERTED = 1 << 27


@dataclass(frozen=True)
class Task:
    """One task: the rows of the shared features that belong to it, and their targets.

    A task keeps only the samples whose target is known, so tasks differ in size (the paper's n and m).
    """

    name: str
    labels: tuple[str, ...]  # the names of its outputs: see `Meaning`
    rows: Tensor  # (n,), int64, indices into the shared features
    # (n, len(labels)). A distribution: non-negative with sum one, or zero where samples without a label are kept on
    # purpose. Classes, labels, yes or no: 0 and 1; NaN where a label of several is not known. A number: standardised.
    targets: Tensor
    meaning: Meaning = DISTRIBUTION
    # what people set for this task: loss, slack, limit, worst_case
    options: Mapping[str, Any] = field(default_factory=dict)
    groups: Tensor | None = None  # (n,), int64, indices into the names of groups, where its worst case asks for groups
    group_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the shapes here, so that no other code has to."""
        if self.targets.shape != (len(self.rows), len(self.labels)):
            raise ValueError(
                f"task {self.name!r}: targets have shape {tuple(self.targets.shape)}, expected "
                f"{(len(self.rows), len(self.labels))} (rows, labels)"
            )
        if self.groups is not None and self.groups.shape != self.rows.shape:
            raise ValueError(f"task {self.name!r}: {len(self.groups)} groups for {len(self.rows)} samples")
        if len(self.rows) == 0:
            raise ValueError(f"task {self.name!r} is empty: no sample has a target for {', '.join(self.labels)}")

    @property
    def size(self) -> int:
        """The number of samples of this task."""
        return len(self.rows)


@dataclass(frozen=True)
class MultiTaskData:
    """The features that all tasks share, and the tasks, the most important one first."""

    features: Features  # (samples, features)
    tasks: tuple[Task, ...]

    @property
    def table(self) -> Tensor:
        """The features, where they are not sparse."""
        assert isinstance(self.features, Tensor)
        return self.features

    def __getitem__(self, name: str) -> Task:
        """The task of that name."""
        return self.tasks[self.position(name)]

    def position(self, name: str) -> int:
        """The position of the task of that name."""
        for at, task in enumerate(self.tasks):
            if task.name == name:
                return at
        raise KeyError(f"no task {name!r}; tasks are {', '.join(task.name for task in self.tasks)}")

    @property
    def priority(self) -> Task:
        """The task whose worst case is minimised."""
        return self.tasks[0]

    @property
    def limited(self) -> tuple[Task, ...]:
        """The tasks that must keep a limit."""
        return self.tasks[1:]

    @property
    def classes(self) -> tuple[int, ...]:
        """The number of labels of each task: the widths of the network's heads."""
        return tuple(len(task.labels) for task in self.tasks)

    def to(self, device: torch.device, dtype: torch.dtype) -> "MultiTaskData":
        """The same data on a device and in a floating-point type: one transfer, before training.

        Large features stay as they are unless they must move to another device: a pass converts them block by block.
        """
        tasks = tuple(
            replace(
                task,
                rows=task.rows.to(device),
                targets=task.targets.to(device, dtype),
                groups=None if task.groups is None else task.groups.to(device),
            )
            for task in self.tasks
        )
        stay = self.features.device == device and self.features.numel() > MOST_CONVERTED
        return MultiTaskData(self.features if stay else self.features.to(device, dtype), tasks)
