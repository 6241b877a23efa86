"""Train the network with iDB-PD."""

import logging
import time
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from idbpd.mtl import MultiTaskData, equal_weights_problem
from idbpd.optim import IDBPD, Oracle, Problem, Record, Solution, solve
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
) -> tuple[dict[str, Tensor], pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The weights under the constraint, the history of the run by step, when each step was done, and how it ended.

    The clock is apart from the history: the same run has the same history to the last bit, but never the same clock.
    """
    made_with = settings(model, problem, seed, fingerprint)
    require_same(threshold["made_with"], made_with, "threshold", "calibrate")
    thresholds = thresholds_of(threshold)
    constrained = build_problem(train, train.priority.name, thresholds, model, problem, compute, seed)
    timed = _solve("training", constrained.oracle, constrained, calibrated_weights, training)
    solution = timed.solution
    _say("with the constraint", timed)
    outcome = {
        "status": solution.status.name,
        "steps": solution.steps,
        "evaluations": solution.evaluations,
        "seconds": timed.seconds[-1],
        "multipliers": solution.multipliers.tolist(),
        "threads": torch.get_num_threads(),
        "made_with": made_with,
        **fingerprint,  # what it was trained on, also where the data were split in another run
    }
    clock = pd.DataFrame({"step": solution.history.step, "seconds": timed.seconds})
    return weights_of(solution), _history(solution, list(thresholds)), clock, outcome


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
    timed = _solve("unconstrained", unconstrained.oracle, unconstrained, calibrated_weights, training)
    _say("without the constraint", timed)
    return weights_of(timed.solution)


def train_equal_weights(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
) -> dict[str, Tensor]:
    """The weights of the usual multi-task training, in which the mean losses of all tasks count the same."""
    built = build_problem(train, train.priority.name, {}, model, problem, compute, seed)
    smooth = equal_weights_problem(built.network, built.data, problem.weight_decay)
    timed = _solve("equal weights", smooth, built, calibrated_weights, training)
    _say("with equal weights", timed)
    return weights_of(timed.solution)


class _Timed(NamedTuple):
    """A solution, and after how many seconds each of the steps in its history was done."""

    solution: Solution
    seconds: list[float]


def _solve(
    title: str,
    oracle: Oracle | Problem,
    built: BuiltProblem,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
) -> _Timed:
    start = built.initial_weights
    if training.start == "calibrated":
        start = {name: calibrated_weights[name].to(tensor) for name, tensor in start.items()}
    seconds: list[float] = []
    begin = time.perf_counter()
    with Progress(title, training.max_steps) as progress:

        def watch(record: Record) -> None:
            seconds.append(time.perf_counter() - begin)
            progress(record)

        solution = solve(
            oracle, start, IDBPD(), max_steps=training.max_steps, tolerance=training.tolerance, callback=watch
        )
    return _Timed(solution, seconds[: len(solution.history.step)])


def _say(which: str, timed: _Timed) -> None:
    solution, seconds = timed
    logger.info("%s: %s after %d steps, %.1f s", which, solution.status.name, solution.steps, seconds[-1])


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
