"""From a table to a training and a test part: rows are divided, features encoded and scaled, targets become tasks."""

import logging
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from idbpd.datasets.table import StoredFeatures, Target, TaskTable
from idbpd.datasets.tensor_stream import StreamedData
from idbpd.errors import DataError
from idbpd.experiment.features import encoded, feature_names, fit_encoding, scaling_for
from idbpd.experiment.splitting.dense_room import require_room
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.duplicates import say_duplicates
from idbpd.experiment.splitting.fingerprint import data_sha256, split_sha256
from idbpd.experiment.splitting.grouping import Grouping, require_groups, say_groups
from idbpd.experiment.splitting.part_tasks import tasks_of_parts
from idbpd.experiment.splitting.row_split import TEST, Part, split_rows
from idbpd.experiment.splitting.stored_split import StoredParts, is_streamed, stored_parts
from idbpd.experiment.splitting.task_targets import require_a_limited_task, task_targets
from idbpd.mtl import FeatureScaling, MultiTaskData, fit_scaling

logger = logging.getLogger(__name__)

# Beyond this a tanh unit with torch's initial weights is as good as constant, and does not learn.
LARGE_FEATURE = 100.0

Rows = NDArray[np.intp]


class Parts(NamedTuple):
    """The tasks over the rows to learn from and over held-out rows, and how their features were made."""

    train: MultiTaskData
    held_out: MultiTaskData
    scaling: FeatureScaling
    encoding: dict[str, Any]
    groupings: list[Grouping | None]  # by task: the groups of its worst case


class TableSplit(NamedTuple):
    """The parts of a table, and how they were made."""

    train: MultiTaskData
    test: MultiTaskData
    scaling: dict[str, Tensor]  # of the encoded features
    encoding: dict[str, Any]  # how the columns of the table become features
    rows: dict[str, Tensor]  # of the table, by part
    fingerprint: dict[str, str]


class StreamedSplit(NamedTuple):
    """The same for a table that is larger than memory: features are made when they are saved."""

    train: StreamedData
    test: StreamedData
    scaling: dict[str, Tensor]
    encoding: dict[str, Any]
    rows: dict[str, Tensor]
    fingerprint: dict[str, str]


def split(table: TaskTable, division: Division) -> TableSplit:
    """The split of a table in memory; one that is larger than memory is refused."""
    targets = task_targets(table, division)
    require_a_limited_task(targets)
    return split_tasks(table, targets, division)


def split_tasks(table: TaskTable, targets: list[Target], division: Division) -> TableSplit:
    """`split`, of these tasks, which may be one without a limit."""
    if isinstance(table.features, StoredFeatures):
        raise DataError(
            f"{table.origin.name} is larger than memory; kedro run, tune and retrain can work with it, frontier and "
            "benchmark cannot: give them a sample of its rows, or raise in_memory in the block of the data set"
        )
    require_room(table, ", and only kedro run, tune and retrain work with it without them")
    made = _split(table, targets, division)
    assert isinstance(made, TableSplit)
    return made


def split_any(table: TaskTable, division: Division) -> TableSplit | StreamedSplit:
    """The split of a table in memory, or of one that is larger."""
    targets = task_targets(table, division)
    require_a_limited_task(targets)
    return _split(table, targets, division)


def _split(table: TaskTable, targets: list[Target], division: Division) -> TableSplit | StreamedSplit:
    """Training and test data of the tasks, how their features were made, their rows, and the fingerprint of all."""
    fraction = division.split.test_fraction
    train_rows, test_rows = split_rows(table, fraction, division.split.seed)
    parts: Parts | StoredParts = (stored_parts if is_streamed(table) else make_parts)(
        table, targets, (train_rows, test_rows), division
    )
    train, test, scaling, encoding, groupings = parts
    require_groups(groupings)
    if isinstance(train, MultiTaskData):
        if (train.table == train.table[:1]).all():
            logger.warning("all training samples have the same features: no network can tell them apart")
        _hint_at_scaling(train.table, feature_names(encoding), division)
    _hint_at_single_classes(train)
    _hint_at_rare_values(encoding)
    _report(targets, train, test, division)
    say_groups(groupings, train, test)
    if fraction > 0 and table.content == "table":
        say_duplicates(table, train_rows, test_rows)
    content = data_sha256(table)
    rows = {"train": train_rows, "test": test_rows}
    fingerprint = {
        "data_sha256": content,
        "split_sha256": split_sha256(content, targets, rows, division.split.unlabelled, scaling, groupings),
    }
    kept = {part: torch.from_numpy(numbers.astype(np.int64)) for part, numbers in rows.items()}
    rest = (dict(scaling.named_buffers()), encoding, kept, fingerprint)
    if isinstance(train, StreamedData):
        assert isinstance(test, StreamedData)
        return StreamedSplit(train, test, *rest)
    assert isinstance(test, MultiTaskData)
    return TableSplit(train, test, *rest)


def make_parts(
    table: TaskTable, targets: list[Target], rows: tuple[Rows, Rows], division: Division, held_out: Part = TEST
) -> Parts:
    """The tasks over the rows to learn from and the held-out rows.

    The former alone decide how gaps are filled, which categories there are, and how features and numbers are scaled.
    """
    require_room(table)
    encoding = fit_encoding(table, rows[0])
    raw, raw_held_out = (torch.from_numpy(encoded(table, part, encoding)) for part in rows)
    asked = division.features.scaling
    scaling = fit_scaling(raw, scaling_for(table) if asked == "auto" else asked)
    made = tasks_of_parts(table, targets, rows, division, held_out)
    return Parts(
        MultiTaskData(scaling(raw), made.train),
        MultiTaskData(scaling(raw_held_out), made.held_out),
        scaling,
        encoding,
        made.groupings,
    )


def validation_parts(training_part: TaskTable, fraction: float, division: Division, parameter: str) -> Parts:
    """The training part of a table, divided once more by the same rules; ``parameter`` sets the fraction."""
    part = Part("validation", parameter)
    rows = split_rows(training_part, fraction, division.split.seed, part)
    return make_parts(training_part, task_targets(training_part, division), rows, division, part)


def _report(
    targets: list[Target], train: MultiTaskData | StreamedData, test: MultiTaskData | StreamedData, division: Division
) -> None:
    for at, (target, part, held_out) in enumerate(zip(targets, train.tasks, test.tasks, strict=True)):
        parts = f"{part.size} training and {held_out.size} test samples"
        rest = len(target.values) - (part.size + held_out.size if division.split.test_fraction > 0 else part.size)
        logger.info(
            "%s task (%s): %s, %s%s: %s",
            target.task,
            "priority" if at == 0 else "limited",
            target.kind,
            _in_words(target),
            _left_out(rest),
            parts if division.split.test_fraction > 0 else "all for training",
        )


def _left_out(samples: int) -> str:
    if samples == 0:
        return ""
    return ", 1 sample without it takes no part" if samples == 1 else f", {samples} samples without it take no part"


def _in_words(target: Target) -> str:
    if target.kind == "binary":
        return f"{target.outputs[0]!r} or {target.other!r}"
    if target.kind == "number":
        return f"{target.outputs[0]}"
    shown = ", ".join(target.outputs[:20]) + (f" and {len(target.outputs) - 20} more" if target.outputs[20:] else "")
    return f"{'classes' if target.kind == 'classes' else 'labels'} {shown}"


def _hint_at_single_classes(train: MultiTaskData | StreamedData) -> None:
    for task in train.tasks:
        kind, targets = task.meaning.kind, task.targets
        if kind in ("classes", "distribution"):
            constant = int((targets > 0).any(dim=0).sum()) == 1
        else:
            known = targets[~targets.isnan().any(dim=1)]
            constant = len(known) == 0 or bool((known == known[:1]).all())
        if constant:
            logger.warning(
                "all training samples of the %s task have the same target: a network that always predicts it is "
                "perfect, and a limit on it means nothing; choose another split.seed or another target for the task",
                task.name,
            )


def _hint_at_rare_values(encoding: dict[str, Any]) -> None:
    for column in encoding["categories"]:
        if len(column["rare"]) > 1 and not any(value is not None for value in column["values"]):
            logger.warning(
                "column %r says nothing to the model: each of its %d values is in too few rows to learn from; a "
                "coarser column (a region for a town) would help",
                column["name"],
                len(column["rare"]),
            )


def _hint_at_scaling(features: Tensor, names: tuple[str, ...], division: Division) -> None:
    largest, column = features.abs().amax(dim=0).max(dim=0)
    if division.features.scaling == "none" and largest > LARGE_FEATURE:
        logger.info(
            "feature %r reaches %g; with features.scaling=standard it would be of the same size as the others",
            names[int(column)],
            largest.item(),
        )
