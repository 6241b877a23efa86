"""A solve that shows its progress, counts its seconds over all sessions, and continues where a killed one stopped."""

import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.errors import DataError
from idbpd.experiment.problem import BuiltProblem
from idbpd.experiment.records.provenance import surroundings, tensors_sha256
from idbpd.experiment.solving.checkpoints import StageCheckpoint
from idbpd.experiment.solving.progress import Progress
from idbpd.optim import Method, Record, Solution, solve


class Timed(NamedTuple):
    """A solution and when its steps were done, in seconds of work from the start of the first session."""

    solution: Solution
    seconds: list[float]  # one per row of the history

    @property
    def total_seconds(self) -> float:
        """How long it took in all."""
        return self.seconds[-1]


class Budget(NamedTuple):
    """When a solve ends."""

    max_steps: int
    tolerance: float


def solve_settings(
    made_with: Mapping[str, Any],
    objective: str,
    thresholds: Mapping[str, float],
    built: BuiltProblem,
    start: Mapping[str, Tensor],
) -> dict[str, Any]:
    """All that decides the numbers of a solve: ``made_with``, objective, limits, first weights, machine and code."""
    return {
        **made_with,
        "objective": objective,
        **{f"limit of {task}": limit for task, limit in thresholds.items()},
        "first weights (SHA-256)": tensors_sha256(start),
        **surroundings(built.data.features.device, built.network),
    }


def solve_durably(
    title: str,
    built: BuiltProblem,
    start: dict[str, Tensor],
    method: Method[Any],
    budget: Budget,
    checkpoint: StageCheckpoint | None,
) -> Timed:
    """Solve from ``start``, or from the state that an earlier session of the same run left.

    Without a checkpoint, a killed solve is lost.
    """
    found = None if checkpoint is None else checkpoint.find()
    seconds = [] if found is None else found.seconds
    if checkpoint is not None:
        checkpoint.seconds = seconds
    begin = time.perf_counter() - (seconds[-1] if seconds else 0.0)
    with Progress(title, budget.max_steps) as progress:

        def watch(record: Record) -> None:
            seconds.append(time.perf_counter() - begin)
            progress(record)

        solution = solve(
            built.oracle,
            start,
            method,
            max_steps=budget.max_steps,
            tolerance=budget.tolerance,
            callback=watch,
            state=None if found is None else found.state,
            keeper=checkpoint,
        )
    if not math.isfinite(solution.f):
        raise DataError(
            f"{title}: the losses are not finite at any weights that were tried ({solution.reason}); "
            "are the features of very different sizes? see features.scaling"
        )
    return Timed(solution, seconds[: len(solution.history.step)])
