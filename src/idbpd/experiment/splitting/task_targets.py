"""Which tasks there are over a table, what each predicts, and which of them has priority."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import Target, TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import TaskOptions
from idbpd.experiment.splitting.division import Division
from idbpd.mtl import LOSSES, SAMPLE_ERRORS
from idbpd.validation import validated

PRIORITY, CONSTRAINT = "priority", "constraint"
LIMITS = ("slack", "limit")  # options that mean nothing for the task that has priority
# A task's name is a part of the names of metrics and tensors.
_NAME = re.compile(r"[^\W_]([\w -]*[\w-])?")
# The column of a model's answers that says what was replaced in a row; a task of this name would be lost beside it.
_TAKEN = "replaced"


def task_targets(table: TaskTable, division: Division) -> list[Target]:
    """The tasks over a table, the most important one first, each with its own options.

    By label: as ``split.tasks`` says (labels by name, or by index counted from 0), else as the source of the table
    says, else the two halves of the labels in file order. By position, for composed images: a task per position, each
    with all labels.
    """
    targets = _targets(table, division)
    for target in targets:
        if _NAME.fullmatch(target.task) is None:
            raise ConfigurationError(
                f"task name {target.task!r} is not valid: use letters, digits, '_', '-' and blanks between them"
            )
        if target.task == _TAKEN:
            raise ConfigurationError(f"task name {_TAKEN!r} is taken by a column of the answers; choose another")
    first = _position(targets, division.priority, "priority") if division.priority is not None else 0
    ordered = [targets[first], *targets[:first], *targets[first + 1 :]]
    return _with_options(ordered, division.tasks.root)


def require_a_limited_task(targets: Sequence[Target]) -> None:
    """Refuse a set of tasks in which none has a limit."""
    if len(targets) < 2:
        found = f"there is one task, {targets[0].task!r}" if targets else "there are no tasks"
        raise ConfigurationError(f"{found}; it takes one to improve and at least one more that keeps a limit")


def _targets(table: TaskTable, division: Division) -> list[Target]:
    split = division.split
    if split.by == "position":
        return _by_position(table, split.tasks)
    if split.tasks is not None:
        if table.targets:
            raise ConfigurationError(
                f"{table.origin.name} states its tasks ({', '.join(target.task for target in table.targets)}); "
                "take out split.tasks, or the tasks in the block of the data set"
            )
        chosen = {name: [_column(table, name, label) for label in labels] for name, labels in split.tasks.items()}
    elif table.targets:
        return list(table.targets)
    elif table.tasks is not None:
        chosen = {name: [_column(table, name, label) for label in labels] for name, labels in table.tasks.items()}
    else:
        half = len(table.label_names) // 2
        chosen = {PRIORITY: list(range(half)), CONSTRAINT: list(range(half, len(table.label_names)))}
    _require_usable(table, chosen)
    kind = split.kind or table.label_kind
    return [_of_labels(table, name, columns, kind) for name, columns in chosen.items()]


def _of_labels(table: TaskTable, name: str, columns: list[int], kind: str) -> Target:
    values = table.labels[:, columns].astype(np.float32)
    outputs = tuple(table.label_names[at] for at in columns)
    if len(columns) == 1:
        return Target(name, "binary", outputs, values, other=f"not {outputs[0]}")
    return Target(name, "labels" if kind == "labels" else "distribution", outputs, values)


def _by_position(table: TaskTable, tasks: Mapping[str, Sequence[int | str]] | None) -> list[Target]:
    if tasks is not None:
        raise ConfigurationError("split.by = 'position' makes the tasks itself; take out split.tasks, or use by: label")
    if len(table.positions) < 2:
        raise ConfigurationError(
            f"split.by = 'position', but {table.origin.name} has no positions; only composed images do: use by: label"
        )
    identity: NDArray[np.float32] = np.eye(len(table.label_names), dtype=np.float32)
    return [
        Target(name, "distribution", table.label_names, identity[classes]) for name, classes in table.positions.items()
    ]


def _column(table: TaskTable, task: str, label: int | str) -> int:
    names = table.label_names
    if isinstance(label, str) and label not in names and label.isdecimal():
        label = int(label)  # an index as it comes from the command line, where '+' stands between items
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
    task_of: dict[int, str] = {}
    for name, columns in tasks.items():
        if not columns:
            raise ConfigurationError(f"task {name!r} has no labels")
        for column in columns:
            if column in task_of:
                raise ConfigurationError(
                    f"label {table.label_names[column]!r} stands in task {task_of[column]!r} and again in {name!r}"
                )
            task_of[column] = name


def _position(targets: Sequence[Target], name: str, parameter: str) -> int:
    names = [target.task for target in targets]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ConfigurationError(
            f"parameter {parameter!r} names the task {name!r}, which does not exist; {hint}tasks are {', '.join(names)}"
        )
    return names.index(name)


def _with_options(targets: list[Target], given: Mapping[str, TaskOptions]) -> list[Target]:
    """The options of each task: what the parameter ``tasks`` says, and else the block of the data set."""
    for name in given:
        _position(targets, name, f"tasks.{name}")
    made = []
    for at, target in enumerate(targets):
        stated = _set(validated(f"tasks.{target.task}", TaskOptions, dict(target.options)))
        if at == 0:  # the block of the data set may state limits for whichever task has no priority in a run
            stated = {name: value for name, value in stated.items() if name not in LIMITS}
        asked = _set(given[target.task]) if target.task in given else {}
        if any(name in asked for name in LIMITS):  # a slack replaces a limit, and the other way round
            stated = {name: value for name, value in stated.items() if name not in LIMITS}
        options = {**stated, **asked}
        _require_meaning(target, options, has_priority=at == 0)
        made.append(replace(target, options=options))
    return made


def _set(options: TaskOptions) -> dict[str, object]:
    return options.model_dump(exclude_none=True)


def _require_meaning(target: Target, options: Mapping[str, object], *, has_priority: bool) -> None:
    """Refuse an option that could not do what it says."""
    loss = options.get("loss")
    if loss is not None:
        name = next(iter(loss)) if isinstance(loss, dict) else str(loss)
        if target.kind not in LOSSES[name].kinds:
            fitting = ", ".join(known for known, kind in LOSSES.items() if target.kind in kind.kinds)
            raise ConfigurationError(
                f"tasks.{target.task}.loss = {name!r} is not for a task of kind {target.kind}; it can have {fitting}"
            )
    limit = options.get("limit")
    if isinstance(limit, Mapping):
        _require_measure(target, *next(iter(limit.items())))
    for option in LIMITS:
        if has_priority and option in options:
            raise ConfigurationError(
                f"tasks.{target.task}.{option} = {options[option]}, but {target.task!r} has priority and keeps no "
                "limit; give another task priority with --params priority=..."
            )


def _require_measure(target: Target, measure: str, level: float) -> None:
    """Refuse a limit in a measure that the task does not have, or at a level that the measure cannot have."""
    place, known = f"tasks.{target.task}.limit.{measure}", SAMPLE_ERRORS[target.kind]
    if measure not in known:
        raise ConfigurationError(
            f"{place} = {level:g}: a task of kind {target.kind} has no limit in {measure!r}; it can have one in "
            f"{', '.join(known)}, or a number, which is the worst-case loss"
        )
    if known[measure].is_share and level >= 1:
        hint = f"; {level:g} % is {level / 100:g}" if level <= 100 else ""
        raise ConfigurationError(f"{place} = {level:g}, but it must be below 1{hint}")
