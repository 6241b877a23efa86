"""Train the network with iDB-PD."""

import logging
import time
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.mtl import MultiTaskData
from idbpd.optim import IDBPD, Solution, solve
from idbpd.pipelines.parameters import ComputeParameters, ModelParameters, ProblemParameters, Seed, TrainingParameters
from idbpd.pipelines.progress import Progress
from idbpd.pipelines.provenance import require_same, settings
from idbpd.pipelines.robust_problem import BuiltProblem, build_problem, thresholds_of, weights_of

logger = logging.getLogger(__name__)


def train_constrained(
    train: MultiTaskData,
    threshold: dict[str, Any],
    fingerprint: dict[str, str],
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> tuple[dict[str, Tensor], pd.DataFrame, dict[str, Any]]:
    """The weights under the constraint, the history of the run by step, and how it ended."""
    made_with = settings(model, problem, seed, fingerprint)
    require_same(threshold["made_with"], made_with, "threshold", "calibrate")
    thresholds = thresholds_of(threshold)
    constrained = build_problem(train, train.priority.name, thresholds, model, problem, compute, seed)
    begin = time.perf_counter()
    solution = _solve("training", constrained, calibrated_weights, training)
    seconds = time.perf_counter() - begin
    logger.info("with the constraint: %s after %d steps, %.1f s", solution.status.name, solution.steps, seconds)
    outcome = {
        "status": solution.status.name,
        "steps": solution.steps,
        "evaluations": solution.evaluations,
        "seconds": seconds,
        "multipliers": solution.multipliers.tolist(),
        "threads": torch.get_num_threads(),
        "device": str(constrained.data.features.device),
        "made_with": made_with,
        **fingerprint,  # what it was trained on, also where the data were split in another run
    }
    return weights_of(solution), _history(solution, list(thresholds)), outcome


def train_unconstrained(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> dict[str, Tensor]:
    """The weights that the priority task alone would choose: what the constraint costs, and what it prevents."""
    unconstrained = build_problem(train, train.priority.name, {}, model, problem, compute, seed)
    begin = time.perf_counter()
    solution = _solve("unconstrained", unconstrained, calibrated_weights, training)
    seconds = time.perf_counter() - begin
    logger.info("without the constraint: %s after %d steps, %.1f s", solution.status.name, solution.steps, seconds)
    return weights_of(solution)


def _solve(
    title: str, built: BuiltProblem, calibrated_weights: dict[str, Tensor], training: TrainingParameters
) -> Solution:
    start = built.initial_weights
    if training.start == "calibrated":
        start = {name: calibrated_weights[name].to(tensor) for name, tensor in start.items()}
    with Progress(title, training.max_steps) as progress:
        return solve(
            built.oracle, start, IDBPD(), max_steps=training.max_steps, tolerance=training.tolerance, callback=progress
        )


def _history(solution: Solution, constraint_tasks: list[str]) -> pd.DataFrame:
    """One row per recorded step, in the names under which the run is tracked.

    ``constraint`` and ``multiplier`` are the largest of all constraint tasks; several tasks have columns of their own.
    """
    history = solution.history
    frame = pd.DataFrame(
        {
            "step": history.step,
            "objective": history.f,
            "constraint": history.g.amax(dim=1),
            "multiplier": history.multipliers.amax(dim=1),
            "stationarity": history.stationarity,
            "infeasibility": history.infeasibility,
            "slackness": history.slackness,
        }
    )
    if len(constraint_tasks) > 1:
        for at, name in enumerate(constraint_tasks):
            frame[f"constraint_{name}"] = history.g[:, at].numpy()
            frame[f"multiplier_{name}"] = history.multipliers[:, at].numpy()
    return frame
