"""What is known of a run, as the sections of the report need it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from idbpd.experiment.page.judged_limit import Limit, limit_of, verdict_of
from idbpd.experiment.records.node_warnings import NodeWarning
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.evaluation.tables import OWN

THIS = "this model"
KINDS = {
    "binary": "yes or no",
    "classes": "one of several classes",
    "labels": "several labels, each yes or no",
    "number": "a number",
    "distribution": "shares of several labels",
}


@dataclass(frozen=True)
class Facts:
    """All results of one run; see `idbpd.pipelines.evaluation.page.write.write_report`."""

    dataset: str
    certificate: Mapping[str, Any]
    threshold: Mapping[str, Any]
    outcome: Mapping[str, Any]
    comparison: pd.DataFrame
    labels: pd.DataFrame
    groups: pd.DataFrame
    verdicts: pd.DataFrame
    history: pd.DataFrame
    clock: pd.DataFrame
    weight_decay: Mapping[str, Any]
    reserve: Mapping[str, Any]
    study: Mapping[str, Any]
    warnings: Sequence[NodeWarning]
    parameters: Mapping[str, Any]  # without secrets

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of every task, the priority task first."""
        found = dict(zip(self.comparison["task"].astype(str), self.comparison["kind"].astype(str), strict=True))
        return {task: found[task] for task in sorted(found, key=lambda task: task in self.limited)}

    @property
    def limited(self) -> tuple[str, ...]:
        """The tasks that keep a limit."""
        return tuple(self.certificate["tasks"])

    @property
    def priority(self) -> str:
        """The task whose worst case is minimised."""
        return next(iter(self.kinds))

    @property
    def held_out(self) -> Mapping[str, Any] | None:
        """What is known about unseen data."""
        held_out: Mapping[str, Any] | None = self.certificate["held_out"]
        return held_out

    @property
    def part(self) -> str:
        """The part of the data that counts: unseen data, where there are some."""
        return "train" if self.held_out is None else "test"

    @property
    def where(self) -> str:
        """The same in words."""
        return "the training data" if self.held_out is None else "unseen data"

    @property
    def verdict(self) -> str:
        """The verdict on all limits."""
        return verdict_of(self.certificate)

    @property
    def beyond_limits(self) -> float:
        """The share that limited tasks have in the objective."""
        return float(self.threshold.get("made_with", {}).get("problem.beyond_limits", 0.0)) if self.limited else 0.0

    def unit(self, task: str) -> str:
        """The unit of the losses of a task."""
        rows = self.comparison[self.comparison["task"].astype(str) == task]
        return str(rows["loss_unit"].fillna("").iloc[0])

    def models(self, task: str, part: str | None = None) -> dict[str, dict[str, float]]:
        """The measures of every model at a task, by the model's name."""
        rows = self.comparison
        rows = rows[(rows["task"].astype(str) == task) & (rows["part"] == (part or self.part))]
        return {
            THIS if record["model"] == OWN else str(record["model"]): {
                str(key): float(value) for key, value in record.items() if isinstance(value, int | float)
            }
            for record in rows.to_dict("records")
        }

    def limit(self, task: str) -> Limit | None:
        """The limit of a task on the part that counts; None for the priority task."""
        own = self.models(task).get(THIS, {})
        return limit_of(self.certificate, task, own.get(WORST_CASE))
