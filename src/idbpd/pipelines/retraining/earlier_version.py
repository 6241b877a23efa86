"""What an earlier version answers to the test part of this run, and which of its rows that version was trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.errors import ConfigurationError
from idbpd.experiment.splitting.row_marks import are_seen
from idbpd.mtl import DISTRIBUTION, SAMPLE_ERRORS, AnsweredTask, Criteria, MultiTaskData, Task
from idbpd.mtl.metrics import Answered

# With fewer rows that a version has not seen, chance decides the comparison: then all rows count.
LEAST_UNSEEN = 100
ROWS_AT_ONCE = 100_000


class EarlierVersion(Protocol):
    """A registered model, wherever it is kept."""

    @property
    def version(self) -> int:
        """Its number."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a table that it needs, by name."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each of its tasks; where it is not known, a task is a distribution over labels."""

    @property
    def seen_rows(self) -> Mapping[str, Tensor] | None:
        """The marks of the rows that it was trained on; None where they were not kept."""

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its answers for raw rows, in the columns that a served model answers with."""


class Champion(EarlierVersion, Protocol):
    """The model in use, and the version that models are measured by."""

    @property
    def yardstick(self) -> EarlierVersion | None:
        """The last version that was shown to be better than the one before it; None if it is gone, or the champion."""


class VersionAnswers(NamedTuple):
    """The answers of a version to all test rows, or the reason why there are none."""

    version: int
    answers: pd.DataFrame
    kinds: Mapping[str, str]
    seen: Tensor | None  # which test rows it was trained on, if that is known
    reason: str | None = None

    def reason_against(self, task: Task) -> str | None:
        """Why its answers to a task cannot be compared; None if they can."""
        if self.reason is not None:
            return self.reason
        kind = self.kinds.get(task.name, DISTRIBUTION.kind)
        if kind != task.meaning.kind:
            return f"version {self.version} answers to the {task.name} task as {kind}, not {task.meaning.kind}"
        own = [name for name in self.answers.columns if name == task.name or name.startswith(f"{task.name}:")]
        if own != list(AnsweredTask.of(task).columns):
            return f"version {self.version} has other labels of the {task.name} task"
        return None

    def losses(self, task: Task, criteria: Criteria) -> Tensor:
        """The loss of every sample of a task that can be compared."""
        return criteria(task).loss.values_of_answers(self._answers_to(task), task.targets)

    def errors(self, task: Task, measure: str) -> Tensor:
        """The errors whose mean a measure of a task is, one per sample that counts."""
        answers = self._answers_to(task)
        answered = Answered(answers, answers, task.targets.double(), task.meaning.scale)
        return SAMPLE_ERRORS[task.meaning.kind][measure].errors(answered)

    def _answers_to(self, task: Task) -> Tensor:
        columns = list(AnsweredTask.of(task).output_columns)
        answers = torch.from_numpy(self.answers[columns].to_numpy(np.float64, copy=True))
        if task.meaning.kind == "number":
            answers = (answers - task.meaning.center) / task.meaning.scale  # as the targets are
        return answers[task.rows]


class Comparable(NamedTuple):
    """The samples of a task on which a version is compared, and what to say of them."""

    task: Task
    samples: Tensor  # their positions among all test samples of the task
    words: str


def ask(version: EarlierVersion, table: TaskTable, rows: Tensor) -> VersionAnswers:
    """Ask a version for its answers to these rows of the table, as they come in a file to score."""
    known, numbers = set(table.feature_names), rows.numpy()
    unknown = [name for name in version.columns if name not in known]
    if unknown:
        reason = f"version {version.version} needs features that are gone: {', '.join(unknown[:5])}"
        return VersionAnswers(version.version, pd.DataFrame(), version.kinds, None, reason)
    seen = are_seen(table, numbers, version.seen_rows)
    # In blocks: a table that is larger than memory is never in memory.
    blocks = [numbers[begin : begin + ROWS_AT_ONCE] for begin in range(0, max(len(numbers), 1), ROWS_AT_ONCE)]
    answers = pd.concat([version.answers(table.frame(block)) for block in blocks], ignore_index=True)
    return VersionAnswers(version.version, answers, version.kinds, None if seen is None else torch.from_numpy(seen))


def comparable_samples(test: MultiTaskData, name: str, asked: VersionAnswers, criteria: Criteria) -> Comparable:
    """The test samples of a task that a version was not trained on; all of them where those are too few."""
    task, version = test[name], asked.version
    everything = Comparable(task, torch.arange(task.size), f"on the same {task.size} test rows")
    if asked.seen is None:
        unknown = f"; which of them version {version} was trained on is not known, and those favour it"
        return everything._replace(words=everything.words + unknown)
    unseen = (~asked.seen[task.rows]).nonzero()[:, 0]
    if len(unseen) == task.size:
        return everything
    part = (
        replace(
            task,
            rows=task.rows[unseen],
            targets=task.targets[unseen],
            groups=None if task.groups is None else task.groups[unseen],
        )
        if len(unseen) >= LEAST_UNSEEN
        else None
    )
    if part is None or not _has_worst_case(part, criteria):
        seen = f"; version {version} was trained on {task.size - len(unseen)} of them, which favours it"
        return everything._replace(words=everything.words + seen)
    words = f"on the {part.size} of {task.size} test rows that version {version} was not trained on"
    return Comparable(part, unseen, words)


def _has_worst_case(task: Task, criteria: Criteria) -> bool:
    try:
        criteria(task)
    except ConfigurationError:  # a share of so few samples is less than one
        return False
    return True
