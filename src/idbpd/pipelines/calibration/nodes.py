"""Solve each constraint task without a constraint: r = value x (1 + slack)."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torch import Tensor

from idbpd.errors import ConfigurationError
from idbpd.experiment.checkpoints import StageCheckpoint
from idbpd.experiment.durable_solve import Budget, solve_durably, solve_settings
from idbpd.experiment.parameters import (
    DEFAULT_CHECKPOINT,
    CalibrationParameters,
    CheckpointParameters,
    ComputeParameters,
    ModelParameters,
    ProblemParameters,
    Seed,
)
from idbpd.experiment.problem import BuiltProblem, build_problem, criteria_of, weights_of
from idbpd.experiment.provenance import settings
from idbpd.mtl import MultiTaskData, Task, guess_loss, measure_quality
from idbpd.optim import IDBPD, Status
from idbpd.pipelines.calibration.cache import Calibration, CalibrationCache

logger = logging.getLogger(__name__)

# A task that comes no nearer to zero than this share of a uniform guess's worst case has learnt nothing.
GUESSING = 0.99


def calibrate(
    train: MultiTaskData,
    fingerprint: dict[str, str],
    calibration: CalibrationParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
    checkpoint: CheckpointParameters = DEFAULT_CHECKPOINT,
    checkpoints: Path | None = None,
    calibration_cache: Path | None = None,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The threshold of every constraint task, how it was found, and weights from which all of them can be kept.

    The value is the worst-case loss alone: weight decay keeps it honest on unseen data, but is not part of what a
    threshold means to a user.

    With one constraint task the weights are those that reach its value. What several reach, each on its own, no single
    network need reach: there the weights are those that keep the limits of all tasks but the last and make that one as
    good as they can, found task by task, so that each search begins where the limits before it are kept.

    Without the two folders nothing is kept for another run.
    """
    given = given_thresholds(train, calibration)
    made_with = settings(model, problem, compute, seed, fingerprint)
    calibrator = _Calibrator(made_with, calibration, checkpoint, checkpoints, calibration_cache)
    found: dict[str, dict[str, Any]] = {}
    weights: dict[str, Tensor] = {}
    for task in train.limited:
        alone = build_problem(train, task.name, {}, model, problem, compute, seed)
        result, alone_weights, cached = calibrator.solve(task.name, {}, alone, alone.initial_weights)
        alone.network.load_state_dict(alone_weights)
        quality = measure_quality(alone.network, alone.data, criteria_of(problem))[task.name]
        value = max(0.0, quality.worst_case_loss)  # which rounding can take below, where nothing is lost
        threshold = given.get(task.name, value * (1 + calibration.slack))
        earlier = {name: record["threshold"] for name, record in found.items()}
        _report(task, value, threshold, result, problem, by_hand=task.name in given, cached=cached)
        found[task.name] = {"threshold": threshold, "value": value, **asdict(result)}
        if earlier:
            joint = build_problem(train, task.name, earlier, model, problem, compute, seed)
            weights = calibrator.solve(task.name, earlier, joint, weights)[1]
        else:
            weights = alone_weights
    thresholds = [record["threshold"] for record in found.values()]
    record = {
        # One number where there is one, as the tracked parameter is read.
        "threshold": thresholds[0] if len(thresholds) == 1 else thresholds,
        "slack": calibration.slack,
        "tasks": found,
        "made_with": made_with,
    }
    return record, weights


def given_thresholds(train: MultiTaskData, calibration: CalibrationParameters) -> dict[str, float]:
    """The limits that are set by hand, by task."""
    given, names = calibration.threshold, [task.name for task in train.limited]
    if given is None:
        return {}
    if not isinstance(given, dict):
        return dict.fromkeys(names, given)
    for name in given:
        if name not in names:
            raise ConfigurationError(
                f"parameter 'calibration.threshold' names {name!r}; the tasks that keep a limit are {', '.join(names)}"
            )
    return given


@dataclass(frozen=True)
class _Calibrator:
    """Solves what has not been solved before."""

    made_with: dict[str, Any]
    parameters: CalibrationParameters
    checkpoint: CheckpointParameters
    checkpoints: Path | None
    cache: Path | None

    def solve(
        self, task: str, limits: Mapping[str, float], built: BuiltProblem, start: dict[str, Tensor]
    ) -> tuple[Calibration, dict[str, Tensor], bool]:
        """Make one task as good as it can be under the limits of others; and whether that was done before."""
        budget = Budget(self.parameters.max_steps, self.parameters.tolerance)
        start = {name: start[name].to(tensor) for name, tensor in built.initial_weights.items()}
        known = {f"calibration.{name}": value for name, value in budget._asdict().items()}
        made_with = solve_settings({**self.made_with, **known}, task, limits, built, start)
        cache = None if self.cache is None else CalibrationCache(self.cache)
        kept = None if cache is None else cache.get(made_with)
        if kept is not None:
            return *kept, True
        title = f"looking for a start with {task}" if limits else f"calibrating {task}"
        stage = title.replace(" ", "_")
        keeper = None
        if self.checkpoints is not None:
            keeper = StageCheckpoint(self.checkpoints, stage, made_with, self.checkpoint)
        timed = solve_durably(title, built, start, IDBPD(), budget, keeper)
        solution, weights = timed.solution, weights_of(timed.solution)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        result = Calibration(solution.status.name, solution.steps, solution.kkt.stationarity, timed.total_seconds, made)
        if solution.status is Status.DIVERGED:
            logger.warning("%s ended early: %s; its best finite weights are used", title, solution.reason)
        elif cache is not None:
            cache.put(made_with, result, weights)
        if keeper is not None:
            keeper.discard()
        return result, weights, False


def _report(
    limited: Task,
    value: float,
    threshold: float,
    result: Calibration,
    problem: ProblemParameters,
    *,
    by_hand: bool,
    cached: bool,
) -> None:
    task, guess = limited.name, guess_loss(limited, criteria_of(problem))
    logger.info(
        "the %s task alone reaches a worst-case loss of %.4f, %s %.4f: %s after %d steps, residual %.1e, %.1f s%s",
        task,
        value,
        "and its threshold was set to" if by_hand else "so its threshold is",
        threshold,
        result.status,
        result.steps,
        result.stationarity,
        result.seconds,
        f" (kept from {result.made}: same data, model and seed)" if cached else "",
    )
    if value > GUESSING * guess:
        logger.warning(
            "the %s task alone is no better than a uniform guess, whose loss is %.4f: it has learnt nothing, and its "
            "limit says little; see calibration.max_steps, problem.weight_decay and features.scaling",
            task,
            guess,
        )
    elif threshold >= guess:
        logger.warning(
            "a uniform guess, whose loss is %.4f, keeps the limit %.4f of the %s task, which says little therefore; "
            "see calibration.slack, calibration.threshold and problem.weight_decay",
            guess,
            threshold,
            task,
        )
    if threshold < value:
        logger.warning(
            "the limit %.4f of the %s task is below %.4f, what it reached on its own with weight decay %g: there may "
            "be no model that keeps it; see calibration.threshold",
            threshold,
            task,
            value,
            problem.weight_decay,
        )
