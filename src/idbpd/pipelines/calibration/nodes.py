"""Solve each constraint task without a constraint: r = value x (1 + slack)."""

import logging
import time
from typing import Any

from torch import Tensor

from idbpd.errors import DataError
from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.optim import IDBPD, Solution, Status, solve
from idbpd.pipelines.parameters import (
    CalibrationParameters,
    ComputeParameters,
    ModelParameters,
    ProblemParameters,
    Seed,
)
from idbpd.pipelines.progress import Progress
from idbpd.pipelines.provenance import settings
from idbpd.pipelines.robust_problem import BuiltProblem, build_problem, weights_of

logger = logging.getLogger(__name__)


def calibrate(
    train: MultiTaskData,
    fingerprint: dict[str, str],
    calibration: CalibrationParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The threshold of every constraint task, how it was found, and weights from which all of them can be kept.

    The value is the worst-case loss alone: weight decay keeps it honest on unseen data, but is not part of what a
    threshold means to a user.

    With one constraint task the weights are those that reach its value. What several reach, each on its own, no single
    network need reach: there the weights are those that keep the limits of all tasks but the last and make that one as
    good as they can, found task by task, so that each search begins where the limits before it are kept.
    """
    found: dict[str, dict[str, Any]] = {}
    weights: dict[str, Tensor] = {}
    for task in train.limited:
        alone = build_problem(train, task.name, {}, model, problem, compute, seed)
        begin = time.perf_counter()
        solution = _solve(f"calibrating {task.name}", alone, alone.initial_weights, calibration)
        seconds = time.perf_counter() - begin
        alone.network.load_state_dict(weights_of(solution))
        value = measure_quality(alone.network, alone.data, problem.regularisation)[task.name].worst_case_loss
        found[task.name] = _record(task.name, value, solution, calibration, seconds)
        earlier = {name: record["threshold"] for name, record in found.items() if name != task.name}
        if earlier:
            joint = build_problem(train, task.name, earlier, model, problem, compute, seed)
            weights = weights_of(_solve(f"looking for a start with {task.name}", joint, weights, calibration))
        else:
            weights = weights_of(solution)
    thresholds = [record["threshold"] for record in found.values()]
    record = {
        # One number where there is one, as the tracked parameter is read.
        "threshold": thresholds[0] if len(thresholds) == 1 else thresholds,
        "slack": calibration.slack,
        "tasks": found,
        "made_with": settings(model, problem, seed, fingerprint),
    }
    return record, weights


def _solve(title: str, built: BuiltProblem, start: dict[str, Tensor], calibration: CalibrationParameters) -> Solution:
    with Progress(title, calibration.max_steps) as progress:
        solution = solve(
            built.oracle,
            start,
            IDBPD(),
            max_steps=calibration.max_steps,
            tolerance=calibration.tolerance,
            callback=progress,
        )
    if solution.status is Status.DIVERGED:
        raise DataError(f"{title}: {solution.reason}; are the features of very different sizes? see features.scaling")
    return solution


def _record(
    task: str, value: float, solution: Solution, calibration: CalibrationParameters, seconds: float
) -> dict[str, Any]:
    threshold = value * (1 + calibration.slack)
    logger.info(
        "the %s task alone reaches a worst-case loss of %.4f, so its threshold is %.4f: %s after %d steps, %.1f s",
        task,
        value,
        threshold,
        solution.status.name,
        solution.steps,
        seconds,
    )
    return {
        "threshold": threshold,
        "value": value,
        "status": solution.status.name,
        "steps": solution.steps,
        "stationarity": solution.kkt.stationarity,
        "seconds": seconds,
    }
