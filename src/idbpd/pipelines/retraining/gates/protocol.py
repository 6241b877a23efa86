"""What a gate is asked, and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, final

from pydantic import BaseModel, ConfigDict

from idbpd.pipelines.retraining.comparison import Comparison


class Evidence(NamedTuple):
    """All that is known of a new model when it is judged."""

    certificate: Mapping[str, Any]
    quality: Mapping[str, float]  # every tracked measure of quality, by name
    held_out: Mapping[str, float]  # the worst-case loss of each task on the test part
    comparison: Comparison  # with the model in use
    priority: str  # the task that is made as good as it can be


class GateResult(NamedTuple):
    """One condition: what was measured, what it may be at most, and whether that holds.

    The note is the end of a sentence that begins with the new model: "is worse than version 3 in churn (...)".
    """

    gate: str
    value: float
    limit: float | None  # None: there is nothing to compare with, which is no reason against the new model
    passed: bool
    note: str


class GateOptions(BaseModel):
    """The options of a gate; people set each as ``retrain.<option>``, so no two gates may share a name."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Options = TypeVar("Options", bound=GateOptions)


@final
@dataclass(frozen=True)
class Gate(Generic[Options]):
    """The type of its options, and the check: one result, or one per task."""

    options: type[Options]
    check: Callable[[Evidence, Options], Sequence[GateResult]]
    is_comparison: bool = False  # with the model in use: what it says is told of a promoted model, too


def at_most(gate: str, value: float, limit: float, note: str) -> GateResult:
    """Passed when the value is at most the limit; NaN never is."""
    return GateResult(gate, value, limit, value <= limit, note)
