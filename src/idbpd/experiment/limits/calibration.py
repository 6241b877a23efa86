"""What each constraint task reaches on its own, and so which limit it must keep: threshold = value x (1 + slack)."""

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from torch import Tensor

from idbpd.experiment.limits.thresholds import GUESSING, Promise, at_least_zero, promises_of
from idbpd.experiment.parameters import CalibrationParameters
from idbpd.experiment.problem import BuiltProblem, Experiment, criteria_of, weights_of
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.shown import name_of, written
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.solving.durable_solve import Budget, solve_durably, solve_settings
from idbpd.mtl import Criteria, MultiTaskData, Task, guess_loss, is_better
from idbpd.mtl.constant_quality import constant_quality
from idbpd.optim import IDBPD, Status

logger = logging.getLogger(__name__)

OF_TASK = "/"  # between a task and a parameter; the name of a task cannot have it
START_PART = 10  # the search for a start that keeps all limits gets one in so many steps
ALL_TASKS = ""  # in place of the name of a task


def calibrate(
    train: MultiTaskData,
    calibration: CalibrationParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
    calibration_cache: ContentStore | None = None,
    reserve: Mapping[str, float] | None = None,
) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, Tensor]]:
    """The threshold of every constraint task with how it was found, weights to start from that keep all of them, and
    the weights of each task alone, by ``<task>/<parameter>``.

    The value is the worst-case loss alone. Weight decay keeps it honest on unseen data, but is not part of what a
    threshold means to a user.

    With one constraint task the weights are those that reach its value. With several tasks, no single network need
    reach all their values. So the weights keep the limits of all tasks but the last, and make that one as good as they
    can. They are found task by task: each search starts where the limits before it are kept.

    The cache has what the solver found, before slack, limits and the ``reserve`` of each task (`Promise.threshold`; 0
    if not given) are applied. So a run with other values of these can use it too.
    """
    promises, reserves = promises_of(train, calibration), reserve or {}
    calibrator = _Calibrator(experiment.made_with, calibration, checkpointing, calibration_cache)
    found: dict[str, dict[str, Any]] = {}
    weights: dict[str, Tensor] = {}
    start: dict[str, Tensor] = {}
    single: dict[str, dict[str, Tensor]] = {}
    for task in train.limited:
        its_own = experiment.of_task_alone(task.name)
        alone = its_own.build(train, task.name, {})
        solved = replace(calibrator, made_with=its_own.made_with).solve(task.name, {}, alone, alone.initial_weights)
        single[task.name] = solved.weights
        quality = alone.quality(solved.weights, alone.data, criteria_of(experiment.problem))[task.name]
        value = at_least_zero(quality.worst_case_loss)
        guess = guess_loss(task, criteria_of(experiment.problem))
        promise, kept_back = promises[task.name], reserves.get(task.name, 0.0)
        threshold = promise.threshold(value, guess, kept_back)
        earlier = {name: record["threshold"] for name, record in found.items()}
        _report(task, _Limit(value, guess, threshold, promise), solved, its_own)
        if promise.measure is not None:
            _warn_of_a_guess(task, promise, criteria_of(experiment.problem))
        found[task.name] = {
            "threshold": threshold,
            "value": value,
            "guess": guess,
            "slack": promise.slack,
            "most_given_up": promise.most_given_up,
            "least_room": promise.least_room,
            "limit": promise.limit,
            "reserve": kept_back,
            **asdict(solved.how),
        }
        if earlier:
            joint = experiment.without_shares().build(train, task.name, earlier)
            weights = calibrator.solve(task.name, earlier, joint, weights).weights
        else:
            weights = solved.weights
        start = alone.start_from(weights)
    thresholds = [record["threshold"] for record in found.values()]
    record = {
        # A number where there is one task, as the tracked parameter is read.
        "threshold": thresholds[0] if len(thresholds) == 1 else thresholds,
        "slack": calibration.slack,
        "tasks": found,
        "made_with": experiment.made_with,
    }
    return record, start, joined_by_task(single)


def joined_by_task(weights: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The weights of several models as one dictionary, by ``<task>/<parameter>``."""
    return {f"{task}{OF_TASK}{name}": tensor for task, of_task in weights.items() for name, tensor in of_task.items()}


def weights_alone(single_task_weights: Mapping[str, Tensor], task: str) -> dict[str, Tensor]:
    """The weights of one task alone, of those that `calibrate` returns for all."""
    prefix = f"{task}{OF_TASK}"
    return {
        name.removeprefix(prefix): tensor for name, tensor in single_task_weights.items() if name.startswith(prefix)
    }


@dataclass(frozen=True)
class _SolverEnding:
    """How the solver ended."""

    status: str
    steps: int
    stationarity: float
    seconds: float
    made: str  # when, as ISO 8601


@dataclass(frozen=True)
class _Solved:
    how: _SolverEnding
    weights: dict[str, Tensor]
    cached: bool  # whether an earlier run found them


@dataclass(frozen=True)
class _Calibrator:
    """Solves what has not been solved before."""

    made_with: dict[str, Any]
    parameters: CalibrationParameters
    checkpointing: Checkpointing
    cache: ContentStore | None

    def solve(self, task: str, limits: Mapping[str, float], built: BuiltProblem, start: dict[str, Tensor]) -> _Solved:
        """Make one task as good as it can be under the limits of others."""
        # A start need not be optimal: on Adult its last digits took longer than all other solves together.
        steps = math.ceil(self.parameters.max_steps / START_PART) if limits else self.parameters.max_steps
        budget = Budget(steps, self.parameters.tolerance)
        start = built.start_from(start)
        method = IDBPD(preconditioner=self.parameters.preconditioner)
        known = {f"calibration.{name}": value for name, value in budget._asdict().items()}
        known["calibration.preconditioner"] = method.preconditioner
        made_with = solve_settings({**self.made_with, **known}, task, limits, built, start)
        kept = None if self.cache is None else self.cache.get(made_with)
        title = f"looking for a start with {task}" if limits else f"calibrating {task}"
        keeper = self.checkpointing.of(title.replace(" ", "_"), made_with)
        if kept is not None:
            if keeper is not None:
                keeper.discard()  # left by a run that was killed just after its result was kept
            return _Solved(_SolverEnding(**kept.record), kept.tensors, cached=True)
        timed = solve_durably(title, built, start, method, budget, keeper)
        solution, weights = timed.solution, weights_of(timed.solution)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        how = _SolverEnding(solution.status.name, solution.steps, solution.kkt.stationarity, timed.total_seconds, made)
        if solution.status is Status.DIVERGED:
            logger.warning("%s ended early: %s; its best finite weights are used", title, solution.reason)
        elif self.cache is not None:
            self.cache.put(made_with, asdict(how), weights)
        if keeper is not None:
            keeper.discard()
        return _Solved(how, weights, cached=False)


def _warn_of_a_guess(task: Task, promise: Promise, criteria: Criteria) -> None:
    """Say that the best constant answer keeps a limit in a measure, if it does."""
    measure, level = str(promise.measure), float(promise.level or 0.0)
    guess = constant_quality(task, criteria(task)).values[measure]
    if not math.isnan(guess) and not is_better(measure, level, guess):
        logger.warning(
            "the limit of the %s task says little: %s %s is asked for, and a constant guess has %s",
            task.name,
            name_of(measure),
            written(measure, level),
            written(measure, guess),
        )


class _Limit(NamedTuple):
    """A limit in training, and what it follows from."""

    value: float  # what the task reaches on its own
    guess: float  # what the best constant answer reaches
    threshold: float
    promise: Promise


def _report(task: Task, limit: _Limit, solved: _Solved, experiment: Experiment) -> None:
    value, guess, threshold, promise = limit
    how, name = solved.how, task.name
    logger.info(
        "the %s task alone reaches a worst-case loss of %.4f, %s %.4f: %s after %d steps, residual %.1e, %.1f s%s",
        name,
        value,
        "so its threshold is" if promise.loss is None else "and its threshold was set to",
        threshold,
        how.status,
        how.steps,
        how.stationarity,
        how.seconds,
        f" (kept from {how.made}: same data, model and seed)" if solved.cached else "",
    )
    if value > GUESSING * guess:
        logger.warning(
            "the %s task alone is no better than a constant guess, whose loss is %.4f: it has learnt nothing, and its "
            "limit says little; see calibration.max_steps, problem.weight_decay and features.scaling",
            name,
            guess,
        )
    elif threshold >= guess and promise.measure is None:
        logger.warning(
            "the limit %.4f of the %s task says little: a constant guess, whose loss is %.4f, keeps it; "
            "see calibration.slack, calibration.threshold and problem.weight_decay",
            threshold,
            name,
            guess,
        )
    if threshold < value:
        logger.warning(
            "the limit %.4f of the %s task is below %.4f, what it reached on its own with weight decay %g: "
            "perhaps no model keeps it; see calibration.threshold",
            threshold,
            name,
            value,
            experiment.problem.weight_decay,
        )
