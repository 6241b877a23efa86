"""From a table to a training and a test part: rows are divided, features encoded and scaled, targets become tasks."""

import logging
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from idbpd.datasets.table import Target, TaskTable
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.features import encoded, feature_names, fit_encoding, scaling_for
from idbpd.experiment.problem import worst_case_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.duplicates import say_duplicates
from idbpd.experiment.splitting.fingerprint import data_sha256, split_sha256
from idbpd.experiment.splitting.grouping import Grouping, grouping_of, require_groups, say_groups
from idbpd.experiment.splitting.row_split import TEST, Part, split_rows
from idbpd.experiment.splitting.task_targets import require_a_limited_task, task_targets
from idbpd.mtl import FeatureScaling, Meaning, MultiTaskData, Task, fit_scaling

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


def split(table: TaskTable, division: Division) -> TableSplit:
    """Training and test data of the tasks, how their features were made, their rows, and the fingerprint of all."""
    targets = task_targets(table, division)
    require_a_limited_task(targets)
    return split_tasks(table, targets, division)


def split_tasks(table: TaskTable, targets: list[Target], division: Division) -> TableSplit:
    """`split`, of these tasks, which may be one without a limit."""
    fraction = division.split.test_fraction
    train_rows, test_rows = split_rows(table, fraction, division.split.seed)
    train, test, scaling, encoding, groupings = make_parts(table, targets, (train_rows, test_rows), division)
    require_groups(groupings)
    if (train.features == train.features[:1]).all():
        logger.warning("all training samples have the same features: no network can tell them apart")
    _hint_at_single_classes(train)
    _hint_at_rare_values(encoding)
    _hint_at_scaling(train.features, feature_names(encoding), division)
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
    return TableSplit(train, test, dict(scaling.named_buffers()), encoding, kept, fingerprint)


def make_parts(
    table: TaskTable, targets: list[Target], rows: tuple[Rows, Rows], division: Division, held_out: Part = TEST
) -> Parts:
    """The tasks over the rows to learn from and the held-out rows.

    The former alone decide how gaps are filled, which categories there are, and how features and numbers are scaled.
    """
    encoding = fit_encoding(table, rows[0])
    raw, raw_held_out = (torch.from_numpy(encoded(table, part, encoding)) for part in rows)
    asked = division.features.scaling
    scaling = fit_scaling(raw, scaling_for(table) if asked == "auto" else asked)
    keep = division.split.unlabelled == "keep"
    meanings = [_meaning(target, rows[0]) for target in targets]
    training = held_out._replace(name="training")
    groupings = [grouping_of(table, target, division.problem_settings, rows[0]) for target in targets]
    tasks, of_held_out = (
        tuple(_task(*of_task, part, name, keep) for of_task in zip(targets, meanings, groupings, strict=True))
        for part, name in zip(rows, (training, held_out), strict=True)
    )
    for part, made in ((training, tasks), (held_out, of_held_out)):
        _require_worst_cases(made, part, division)
    return Parts(
        MultiTaskData(scaling(raw), tasks),
        MultiTaskData(scaling(raw_held_out), of_held_out),
        scaling,
        encoding,
        groupings,
    )


def validation_parts(training_part: TaskTable, fraction: float, division: Division, parameter: str) -> Parts:
    """The training part of a table, divided once more by the same rules; ``parameter`` sets the fraction."""
    part = Part("validation", parameter)
    rows = split_rows(training_part, fraction, division.split.seed, part)
    return make_parts(training_part, task_targets(training_part, division), rows, division, part)


def _meaning(target: Target, rows: Rows) -> Meaning:
    """What the outputs mean; a number is standardised by the rows to learn from."""
    if target.kind != "number":
        return Meaning(target.kind, other=target.other)
    values = target.values[rows, 0].astype(np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return Meaning("number")  # the task is refused later, with its name
    deviation = float(values.std())
    return Meaning("number", center=float(values.mean()), scale=deviation if deviation > 0 else 1.0)


def _require_worst_cases(tasks: tuple[Task, ...], part: Part, division: Division) -> None:
    """Refuse a worst case that means nothing over so few samples, before anything is trained."""
    for task in tasks:
        try:
            worst_case_of(task, division.problem_settings)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error}, in the {part.name} part") from error


def _task(
    target: Target, meaning: Meaning, grouping: Grouping | None, rows: Rows, part: Part, keep_unlabelled: bool
) -> Task:
    """A task over one part of the table, with the samples whose target is known.

    A distribution needs at least one label, unless samples without one are kept on purpose.
    """
    values = torch.from_numpy(target.values[rows])
    if target.kind == "distribution":
        known = (values > 0).any(dim=1)
        members = torch.arange(len(values)) if keep_unlabelled else known.nonzero(as_tuple=True)[0]
        chosen = values[members].nan_to_num(0.0)
        chosen = chosen / chosen.sum(dim=1, keepdim=True).clamp(min=1)
    else:
        known = ~values.isnan().all(dim=1)
        members = known.nonzero(as_tuple=True)[0]
        chosen = values[members]
        if target.kind == "number":
            chosen = ((chosen.double() - meaning.center) / meaning.scale).float()
    if not known.any():
        raise DataError(
            f"no sample of the {part.name} part has a target of the {target.task} task "
            f"({', '.join(target.outputs)}); choose other columns for it, or another {part.parameter}"
        )
    task = Task(target.task, target.outputs, members, chosen, meaning, target.options)
    if grouping is None:
        return task
    return replace(task, groups=torch.from_numpy(grouping.codes[rows])[members], group_names=grouping.names)


def _report(targets: list[Target], train: MultiTaskData, test: MultiTaskData, division: Division) -> None:
    for at, (target, part, held_out) in enumerate(zip(targets, train.tasks, test.tasks, strict=True)):
        parts = f"{part.size} training and {held_out.size} test samples"
        rest = len(target.values) - (part.size + held_out.size if division.split.test_fraction > 0 else part.size)
        logger.info(
            "%s task (%s): %s, %s%s: %s",
            target.task,
            "priority" if at == 0 else "limited",
            target.kind,
            _in_words(target),
            f", {rest} samples without it take no part" if rest else "",
            parts if division.split.test_fraction > 0 else "all for training",
        )


def _in_words(target: Target) -> str:
    if target.kind == "binary":
        return f"{target.outputs[0]!r} or {target.other!r}"
    if target.kind == "number":
        return f"{target.outputs[0]}"
    shown = ", ".join(target.outputs[:20]) + (f" and {len(target.outputs) - 20} more" if target.outputs[20:] else "")
    return f"{'classes' if target.kind == 'classes' else 'labels'} {shown}"


def _hint_at_single_classes(train: MultiTaskData) -> None:
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
