"""The best fixed weights of the tasks' mean losses: the usual way to meet limits without constrained optimisation.

Each weight of a sweep is trained on one part of the training rows and measured on the other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from idbpd.experiment.fixed_weights import task_weights, with_fixed_weights
from idbpd.experiment.problem import Experiment, criteria_of, weights_of
from idbpd.experiment.records.provenance import parameters_of
from idbpd.experiment.solving.checkpoints import Checkpointing
from idbpd.experiment.solving.durable_solve import Budget
from idbpd.experiment.solving.stage import Stage
from idbpd.experiment.splitting.fingerprint import parts_sha256
from idbpd.experiment.splitting.validation import Parts
from idbpd.optim import IDBPD
from idbpd.pipelines.training.parameters import ComparisonParameters


class Tried(NamedTuple):
    """Weights of the tasks that were tried, and what they reached on the validation part."""

    weights: dict[str, float]  # by task
    worst_case_losses: dict[str, float]  # by task
    excess: dict[str, float]  # over the limit, as a share of it; by constraint task, negative where there is room
    status: str
    steps: int

    @property
    def largest_excess(self) -> float:
        """The excess of the task that is farthest from keeping its limit."""
        return max(self.excess.values())


def sweep(
    parts: Parts,
    limits: Mapping[str, float],
    comparison: ComparisonParameters,
    tolerance: float,
    experiment: Experiment,
    checkpointing: Checkpointing,
) -> list[Tried]:
    """Train with every weight of the sweep, each from where the one before it ended.

    The first one starts from the initial weights: the calibrated ones have seen the validation part.
    """
    experiment = replace(experiment, fingerprint={"split_sha256": parts_sha256(parts.fit)})
    budget = Budget(comparison.max_steps, tolerance)
    made_with = {**experiment.made_with, **parameters_of("comparison", comparison), "tolerance": tolerance}
    start: dict[str, Tensor] | None = None
    tried = []
    for of_priority in comparison.sweep:
        weights = task_weights(parts.fit, of_priority)
        built = with_fixed_weights(experiment, parts.fit, weights)
        first = built.initial_weights if start is None else built.start_from(start)
        name = f"sweep_{of_priority:g}"
        stage = Stage(name, f"fixed weight {of_priority:g}", made_with, checkpointing)
        solution = stage.solve(built, {}, first, budget, IDBPD()).solution
        start = weights_of(solution)
        quality = built.quality(start, parts.validation, criteria_of(experiment.problem))
        losses = {task: found.worst_case_loss for task, found in quality.items()}
        excess = {task: _excess(losses[task], limit) for task, limit in limits.items()}
        tried.append(Tried(weights, losses, excess, solution.status.name, solution.steps))
    return tried


def choose(tried: Sequence[Tried], priority: str, margin: float) -> Tried:
    """The best for the priority task among those that keep every limit up to the margin; else the nearest to it."""
    keeping = [one for one in tried if one.largest_excess <= margin]
    if keeping:
        return min(keeping, key=lambda one: _known(one.worst_case_losses[priority]))
    return min(tried, key=lambda one: one.largest_excess)


def _excess(loss: float, limit: float) -> float:
    return loss / limit - 1 if math.isfinite(loss) and limit > 0 else math.inf


def _known(loss: float) -> float:
    return loss if math.isfinite(loss) else math.inf
