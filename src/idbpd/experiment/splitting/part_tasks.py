"""The tasks over the rows of each part of a table: who takes part, what targets mean, which groups there are."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from idbpd.datasets.table import Target, TaskTable
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.problem import worst_case_of
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.grouping import Grouping, grouping_of
from idbpd.experiment.splitting.row_split import TEST, Part
from idbpd.mtl import Meaning, Task

Rows = NDArray[np.intp]


class PartTasks(NamedTuple):
    """The tasks over the rows to learn from and over held-out rows."""

    train: tuple[Task, ...]
    held_out: tuple[Task, ...]
    groupings: list[Grouping | None]  # by task: the groups of its worst case


def tasks_of_parts(
    table: TaskTable, targets: list[Target], rows: tuple[Rows, Rows], division: Division, held_out: Part = TEST
) -> PartTasks:
    """The tasks of both parts; the rows to learn from alone decide how numbers are scaled, and the groups."""
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
    return PartTasks(tasks, of_held_out, groupings)


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
