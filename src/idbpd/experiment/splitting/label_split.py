"""Which labels make which task."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError

PRIORITY, CONSTRAINT = "priority", "constraint"
# A task's name is a part of the names of metrics and tensors.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class TaskLabels:
    """A task before the samples are split: its labels, and which of them each sample has."""

    name: str
    labels: tuple[str, ...]
    positives: NDArray[np.int8]  # (samples, labels)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which samples have at least one of the task's labels."""
        labelled: NDArray[np.bool_] = np.any(self.positives, axis=1)
        return labelled


def split_labels(
    table: TaskTable, by: Literal["label", "position"], tasks: Mapping[str, Sequence[int | str]] | None
) -> list[TaskLabels]:
    """The tasks over a table, the most important one first.

    By label: as ``tasks`` says (labels by name, or by index counted from 0), else as the source of the table says, else
    the two halves of the labels in file order. By position, for composed images: a task per position, each with all
    labels.
    """
    if by == "position":
        return _by_position(table, tasks)
    if tasks is not None:
        chosen = {name: [_column(table, name, label) for label in labels] for name, labels in tasks.items()}
    elif table.tasks is not None:
        chosen = {name: [_column(table, name, label) for label in labels] for name, labels in table.tasks.items()}
    else:
        half = len(table.label_names) // 2
        chosen = {PRIORITY: list(range(half)), CONSTRAINT: list(range(half, len(table.label_names)))}
    _require_usable(table, chosen)
    return [
        TaskLabels(name, tuple(table.label_names[at] for at in columns), table.labels[:, columns])
        for name, columns in chosen.items()
    ]


def _by_position(table: TaskTable, tasks: Mapping[str, Sequence[int | str]] | None) -> list[TaskLabels]:
    if tasks is not None:
        raise ConfigurationError("split.by = 'position' makes the tasks itself; take out split.tasks, or use by: label")
    if len(table.positions) < 2:
        raise ConfigurationError(
            f"split.by = 'position', but {table.origin.name} has no positions; only composed images do: use by: label"
        )
    identity = np.eye(len(table.label_names), dtype=np.int8)
    return [TaskLabels(name, table.label_names, identity[classes]) for name, classes in table.positions.items()]


def _column(table: TaskTable, task: str, label: int | str) -> int:
    names = table.label_names
    if isinstance(label, int):
        if not 0 <= label < len(names):
            raise ConfigurationError(
                f"task {task!r}: label {label} is out of range; there are {len(names)} labels, counted from 0"
            )
        return label
    if label not in names:
        raise ConfigurationError(f"task {task!r}: there is no label {label!r}; labels are {', '.join(names)}")
    return names.index(label)


def _require_usable(table: TaskTable, tasks: Mapping[str, Sequence[int]]) -> None:
    if len(tasks) < 2:
        raise ConfigurationError(f"there are {len(tasks)} tasks; it takes one to improve and at least one to limit")
    task_of: dict[int, str] = {}
    for name, columns in tasks.items():
        if _NAME.fullmatch(name) is None:
            raise ConfigurationError(f"task name {name!r} is not valid: use letters, digits, '_' and '-'")
        if not columns:
            raise ConfigurationError(f"task {name!r} has no labels")
        for column in columns:
            if column in task_of:
                raise ConfigurationError(
                    f"label {table.label_names[column]!r} stands in task {task_of[column]!r} and again in {name!r}"
                )
            task_of[column] = name
    for name, columns in tasks.items():
        if len(columns) == 1:
            raise ConfigurationError(
                f"task {name!r} has one label, {table.label_names[columns[0]]!r}, and so nothing to choose from; "
                "for a yes-or-no label add a column with its opposite"
            )
