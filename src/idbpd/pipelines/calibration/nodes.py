"""Solve the constraint task without a constraint: r = value x (1 + slack)."""

import logging
from typing import Any

from torch import Tensor

from idbpd.mtl import MultiTaskData, measure_quality
from idbpd.optim import IDBPD, solve
from idbpd.pipelines.parameters import (
    CalibrationParameters,
    ComputeParameters,
    ModelParameters,
    ProblemParameters,
    Seed,
)
from idbpd.pipelines.progress import Progress
from idbpd.pipelines.robust_problem import build_problem
from idbpd.pipelines.splitting.nodes import CONSTRAINT

logger = logging.getLogger(__name__)


def calibrate(
    train: MultiTaskData,
    calibration: CalibrationParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The threshold of the constraint task, how it was found, and the weights that reach the calibrated value.

    The value is the worst-case loss alone: weight decay keeps it honest on unseen data, but is not part of what a
    threshold means to a user.
    """
    alone = build_problem(train, CONSTRAINT, {}, model, problem, compute, seed)
    with Progress("calibrating", calibration.max_steps) as progress:
        solution = solve(
            alone.oracle,
            alone.initial_weights,
            IDBPD(),
            max_steps=calibration.max_steps,
            tolerance=calibration.tolerance,
            callback=progress,
        )
    alone.network.load_state_dict(solution.x)
    value = measure_quality(alone.network, alone.data, problem.regularisation)[CONSTRAINT].worst_case_loss
    threshold = value * (1 + calibration.slack)
    logger.info(
        "the constraint task alone reaches a worst-case loss of %.4f (%s, %d steps, residual %.1e): threshold %.4f",
        value,
        solution.status.name,
        solution.steps,
        solution.kkt.worst,
        threshold,
    )
    record = {
        "threshold": threshold,
        "value": value,
        "slack": calibration.slack,
        "status": solution.status.name,
        "steps": solution.steps,
        "stationarity": solution.kkt.stationarity,
        "seed": seed,
    }
    return record, solution.x
