"""A finished run as the tracking store has it: all that a comparison with others needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import pandas as pd

OWN = "constrained"  # the model that a run is about, in its table `comparison`


@dataclass(frozen=True)
class TrackedRun:
    """The results of one model, and where it comes from."""

    run_id: str
    name: str
    dataset: str
    started: datetime
    seconds: float | None  # of the whole command
    parameters: Mapping[str, Any]  # by dotted name
    origin: Mapping[str, str]  # data, code and machine
    packages: Mapping[str, str]  # versions
    certificate: Mapping[str, Any]
    quality: Mapping[str, float]
    outcome: Mapping[str, Any]
    comparison: pd.DataFrame = field(repr=False)
    history: pd.DataFrame = field(repr=False)
    clock: pd.DataFrame | None = field(repr=False)  # None for runs from before it was tracked; so is the standing
    standing: Mapping[str, Any] | None = field(repr=False)
    version: int | None = None  # of a registered model
    is_champion: bool = False
    remark: str = ""  # what became of the version

    @property
    def part(self) -> str:
        """The part of the data that it was judged on."""
        return "train" if self.certificate["held_out"] is None else "test"

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every task, the priority task first."""
        found = dict(zip(self.comparison["task"].astype(str), self.comparison["kind"].astype(str), strict=True))
        return {task: found[task] for task in sorted(found, key=lambda task: task in self.certificate["tasks"])}

    @property
    def priority(self) -> str:
        """The task whose worst case is minimised."""
        return next(iter(self.kinds))

    def unit(self, task: str) -> str:
        """The unit of the losses of a task."""
        rows = self.comparison[self.comparison["task"].astype(str) == task]
        return str(rows["loss_unit"].fillna("").iloc[0]) if len(rows) else ""

    def value(self, task: str, measure: str) -> float | None:
        """A measure of a task on the part that counts; None where it is not defined."""
        return self.quality.get(f"{self.part}_{task}_{measure}")


class TrackedRuns(Protocol):
    """The store of runs; every method refuses what it does not have in one line."""

    def by_id(self, run_ids: Sequence[str]) -> list[TrackedRun]:
        """These runs, in this order."""
        ...

    def last_of(self, dataset: str, count: int) -> list[TrackedRun]:
        """The last finished runs of a data set, the oldest first."""
        ...

    def versions_of(self, model: str, count: int) -> list[TrackedRun]:
        """The runs of the last versions of a registered model, the oldest first."""
        ...
