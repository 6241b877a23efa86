"""Which group each row of a table belongs to, for a worst case over groups."""

import logging
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import Column, StoredFeatures, Target, TaskTable
from idbpd.datasets.tensor_stream import StreamedData
from idbpd.errors import ConfigurationError
from idbpd.experiment.parameters import ProblemSettings
from idbpd.mtl import WORST_CASES, Groups, MultiTaskData, Task

logger = logging.getLogger(__name__)

MISSING = "(missing)"
# A number with more values than this is a measurement, and not the name of a group.
MOST_NUMBERS = 20
# The mean loss of a group with fewer samples than this says little: a warning names the group.
FEW = 20
# Groups with fewer than this are merged. A worst case over so few samples gets no bound either (LEAST_CARRIERS).
TOO_FEW = 5
SMALL = "small groups"
SHOWN = 5


class Grouping(NamedTuple):
    """The group of every row of a table; rows without a value are a group of their own."""

    columns: tuple[str, ...]
    names: tuple[str, ...]  # of groups that have rows
    codes: NDArray[np.int64]  # (rows,), indices into the names
    merged: Mapping[str, int]  # the groups that were too small, with their numbers of training samples
    parameter: str  # that asked for them
    tasks: tuple[str, ...] = ()  # of the columns, those that are the answer of a task


def grouping_of(
    table: TaskTable, target: Target, problem: ProblemSettings, training_rows: NDArray[np.intp]
) -> Grouping | None:
    """The groups that the worst case of a task asks for; None where it asks for none.

    Groups with too few training samples of the task are merged into one.
    """
    own = target.options.get("worst_case")
    name, options = problem.worst_case_choice(own)
    entry = WORST_CASES[name](**options)
    if not isinstance(entry, Groups):
        return None
    parameter = "problem.worst_case.groups" if own is None else f"tasks.{target.task}.worst_case.groups"
    found = [_values(table, column, parameter) for column in entry.names]
    pairs, codes = np.unique(np.stack([codes for codes, _ in found], axis=1), axis=0, return_inverse=True)
    names = tuple(", ".join(names[at] for at, (_, names) in zip(pair, found, strict=True)) for pair in pairs)
    tasks = tuple(column for column in entry.names if _is_answer(table, column))
    grouping = Grouping(entry.names, names, codes.reshape(-1).astype(np.int64), {}, parameter, tasks)
    samples = training_rows[target.known[training_rows]]
    return _merged(grouping, np.bincount(grouping.codes[samples], minlength=len(names)))


def _merged(grouping: Grouping, sizes: NDArray[np.intp]) -> Grouping:
    """Merge the groups that are too small; if the result is too small as well, add the smallest of the others."""
    small = sizes < TOO_FEW
    if not small.any() or len(sizes) == 1:
        return grouping
    merged = {grouping.names[at]: int(sizes[at]) for at in np.flatnonzero(small)}
    joined, name = small.copy(), f"({SMALL})"
    if sizes[small].sum() < TOO_FEW and not small.all():
        smallest = int(np.where(small, sizes.max() + 1, sizes).argmin())
        joined[smallest], name = True, f"{grouping.names[smallest]} and {SMALL}"
    kept = np.flatnonzero(~joined)
    new_codes = np.full(len(sizes), len(kept), dtype=np.int64)
    new_codes[kept] = np.arange(len(kept))
    names = (*(grouping.names[at] for at in kept), name)
    return grouping._replace(names=names, codes=new_codes[grouping.codes], merged=merged)


def require_groups(groupings: Sequence[Grouping | None]) -> None:
    """Refuse groups of which only one is left: there is nothing to mix."""
    for grouping in groupings:
        if grouping is not None and len(grouping.names) == 1:
            small = _shown([f"{name!r} ({size})" for name, size in grouping.merged.items()])
            why = f"with fewer than {TOO_FEW} training samples are {small}" if small else "its column has one value"
            raise ConfigurationError(
                f"{grouping.parameter} = {'+'.join(grouping.columns)} makes one group of at least {TOO_FEW} training "
                f"samples; {why}; name another column, or take another worst case, such as share"
            )


def say_groups(
    groupings: Sequence[Grouping | None], train: MultiTaskData | StreamedData, test: MultiTaskData | StreamedData
) -> None:
    """Warn of groups that were merged, that say little because few samples are in them, or that are predicted."""
    for grouping, task, held_out in zip(groupings, train.tasks, test.tasks, strict=True):
        if grouping is None:
            continue
        columns = " x ".join(grouping.columns)
        sizes, test_sizes = _sizes(task), _sizes(held_out)
        if grouping.tasks:
            logger.warning(
                "%s task: its groups are made of %s, which a task predicts: they are classes, and nobody knows the "
                "group of a new row",
                task.name,
                _shown([repr(name) for name in grouping.tasks]),
            )
        if grouping.merged:
            logger.warning(
                "%s task: of the groups of %s, those with fewer than %d training samples count as one, %r: %s",
                task.name,
                columns,
                TOO_FEW,
                grouping.names[-1],
                _shown([f"{name!r} ({size})" for name, size in grouping.merged.items()]),
            )
        small = [(name, size) for name, size in sizes.items() if 0 < size < FEW]
        if small:
            logger.warning(
                "%s task: of the groups of %s, %s have fewer than %d training samples: their mean losses say little, "
                "and each of them may decide the worst case",
                task.name,
                columns,
                _shown([f"{name!r} ({size})" for name, size in small]),
                FEW,
            )
        untested = [name for name, size in sizes.items() if size > 0 and test_sizes[name] == 0]
        if untested:
            logger.warning(
                "%s task: of the groups of %s, %s have no test sample: nothing shows how good the model is there",
                task.name,
                columns,
                _shown([repr(name) for name in untested]),
            )


def _sizes(task: Task) -> dict[str, int]:
    assert task.groups is not None  # it has a grouping
    return dict(zip(task.group_names, task.groups.bincount(minlength=len(task.group_names)).tolist(), strict=True))


def _shown(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if names[SHOWN:] else "")


def _values(table: TaskTable, name: str, parameter: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The values of a column as indices into their names, the last of which is that of a missing value."""
    column = _column(table, name, parameter)
    if column.role == "category":
        codes = column.values.astype(np.int64)
        return np.where(codes < 0, len(column.categories), codes), (*column.categories, MISSING)
    known = ~np.isnan(column.values)
    values = np.unique(column.values[known])
    if column.role == "date" or len(values) > MOST_NUMBERS:
        what = "is a date" if column.role == "date" else f"has {len(values)} different numbers"
        raise ConfigurationError(
            f"{parameter} names {name!r}, which {what}: groups are categories, or at most {MOST_NUMBERS} numbers; "
            "make a column of ranges of it"
        )
    codes = np.where(known, np.searchsorted(values, column.values), len(values)).astype(np.int64)
    return codes, (*(f"{value:g}" for value in values), MISSING)


def _column(table: TaskTable, name: str, parameter: str) -> Column:
    """A column by its name: one that is kept for grouping, a feature, a label, or the one answer of a task."""
    if name in table.grouping:
        return table.grouping[name]
    if name in table.feature_names:
        at = table.feature_names.index(name)
        if isinstance(table.features, tuple):
            return table.features[at]
        if isinstance(table.features, StoredFeatures):
            return table.features.column(at)
        column: Any = table.features[:, [at]]
        numbers = column if isinstance(column, np.ndarray) else column.toarray()
        return Column(name, "number", numbers[:, 0].astype(np.float64))
    if name in table.label_names:
        return Column(name, "number", table.labels[:, table.label_names.index(name)].astype(np.float64))
    answers = {target.task: target for target in table.targets if target.kind in ("binary", "classes")}
    if name in answers:
        return _answer(answers[name])
    for target in table.targets:
        if target.task == name:
            raise ConfigurationError(
                f"{parameter} names the task {name!r}, which is of kind {target.kind}: groups can be the answers of a "
                "task that is binary or of classes; for another, make a column of ranges"
            )
    known = [*table.grouping, *table.feature_names, *table.label_names, *answers]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ConfigurationError(
        f"{parameter} names the column {name!r}, which {table.origin.name} does not have; {hint}columns are "
        f"{_shown(known)}; one that is ignored must also be under 'groups' in the block of the data set"
    )


def _is_answer(table: TaskTable, name: str) -> bool:
    """Whether the values are what a task predicts. A column that is kept for grouping was told of when it was read."""
    if name in table.grouping or name in table.feature_names:
        return False
    return name in table.label_names or any(target.task == name for target in table.targets)


def _answer(target: Target) -> Column:
    """What a task predicts, if it is one value: worst cases over classes are worst cases over groups."""
    if target.kind == "binary":
        codes = np.nan_to_num(target.values[:, 0])
        categories: tuple[str, ...] = (str(target.other), target.outputs[0])
    else:
        codes = np.nan_to_num(target.values).argmax(axis=1)
        categories = target.outputs
    return Column(target.task, "category", np.where(target.known, codes, -1).astype(np.int32), categories)
