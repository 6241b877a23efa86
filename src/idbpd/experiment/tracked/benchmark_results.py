"""The result of one benchmark job, and what was tracked of one benchmark cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from torch import Tensor

from idbpd.experiment.records.content_store import content_key


@dataclass(frozen=True)
class JobResult:
    """The result of a job: a record of plain data, and tensors.

    ``made_with`` is everything that decides the result. ``failed`` says why there is none. A result that an earlier
    benchmark computed is ``reused``.
    """

    made_with: Mapping[str, Any]
    record: dict[str, Any]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    failed: str | None = None
    reused: bool = False

    @property
    def key(self) -> str:
        """The name of its file."""
        return content_key(self.made_with)


@dataclass(frozen=True)
class BenchmarkCell:
    """What was tracked of one method on one data set in one setting with one seed: all that a report needs."""

    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    history: pd.DataFrame = field(repr=False)  # a row per step that was measured

    @property
    def failed(self) -> bool:
        """Whether it ended without a result."""
        return self.tags["status"] == "FAILED"
