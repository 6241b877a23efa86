"""Train the network with iDB-PD, or with one of the methods that it is compared with."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.experiment.checkpoints import StageCheckpoint
from idbpd.experiment.durable_solve import Budget, Timed, solve_durably, solve_settings
from idbpd.experiment.parameters import (
    DEFAULT_CHECKPOINT,
    DEFAULT_METHODS,
    CheckpointParameters,
    ComputeParameters,
    MethodsParameters,
    ModelParameters,
    ProblemParameters,
    Seed,
    TrainingParameters,
)
from idbpd.experiment.problem import BuiltProblem, build_problem, criteria_of, thresholds_of, weights_of
from idbpd.experiment.provenance import parameters_of, require_same, settings
from idbpd.mtl import EqualWeights, MultiTaskData
from idbpd.optim import IDBPD, Method
from idbpd.pipelines.training.endings import reached, say_how_it_ended
from idbpd.pipelines.training.history import history_frame

logger = logging.getLogger(__name__)

_DEFAULT = IDBPD()  # of the models that the constrained one is compared with, whatever that is trained by


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
    checkpoint: CheckpointParameters = DEFAULT_CHECKPOINT,
    checkpoints: Path | None = None,
    methods: MethodsParameters = DEFAULT_METHODS,
) -> tuple[dict[str, Tensor], pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The weights under the constraint, the history of the run by step, when each step was done, and how it ended.

    The clock is apart from the history: the same run has the same history to the last bit, but never the same clock.
    Without a folder for checkpoints nothing is kept for another run.
    """
    made_with = settings(model, problem, compute, seed, fingerprint)
    require_same(threshold["made_with"], made_with, "threshold", "calibrate")
    thresholds = thresholds_of(threshold)
    built = build_problem(train, train.priority.name, thresholds, model, problem, compute, seed)
    options = methods.of(training.method, training.max_steps)
    method_settings = {f"methods.{training.method}.{name}": value for name, value in options.items()}
    keeping = _Keeping("train_constrained", {**made_with, **method_settings}, checkpoint, checkpoints)
    method = make_method(training.method, options)
    timed = _solve("training", built, thresholds, calibrated_weights, training, keeping, method)
    say_how_it_ended("with the constraint", timed, training.tolerance, threshold["tasks"])
    solution = timed.solution
    outcome = {
        "method": training.method,
        "status": solution.status.name,
        "reason": solution.reason,
        "steps": solution.steps,
        "evaluations": solution.evaluations,
        "seconds": timed.total_seconds,
        "multipliers": solution.multipliers.tolist(),
        "reached": reached(solution, thresholds),
        "threads": torch.get_num_threads(),
        "device": str(built.data.features.device),
        "made_with": made_with,
        **fingerprint,  # what it was trained on, also where the data were split in another run
    }
    clock = pd.DataFrame({"step": solution.history.step, "seconds": timed.seconds})
    return weights_of(solution), history_frame(solution, list(thresholds)), clock, outcome


def train_unconstrained(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
    fingerprint: dict[str, str],
    checkpoint: CheckpointParameters = DEFAULT_CHECKPOINT,
    checkpoints: Path | None = None,
) -> dict[str, Tensor]:
    """The weights that the priority task alone would choose: what the constraint costs, and what it prevents."""
    built = build_problem(train, train.priority.name, {}, model, problem, compute, seed)
    made_with = settings(model, problem, compute, seed, fingerprint)
    keeping = _Keeping("train_unconstrained", made_with, checkpoint, checkpoints)
    timed = _solve("unconstrained", built, {}, calibrated_weights, training, keeping)
    say_how_it_ended("without the constraint", timed, training.tolerance, {})
    return weights_of(timed.solution)


def train_equal_weights(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: Seed,
    fingerprint: dict[str, str],
    checkpoint: CheckpointParameters = DEFAULT_CHECKPOINT,
    checkpoints: Path | None = None,
) -> dict[str, Tensor]:
    """The weights of the usual multi-task training, in which the mean losses of all tasks count the same."""
    built = build_problem(train, train.priority.name, {}, model, problem, compute, seed)
    oracle = EqualWeights(built.network, built.data, criteria_of(problem), problem.weight_decay)
    built = built._replace(oracle=oracle)
    made_with = settings(model, problem, compute, seed, fingerprint)
    keeping = _Keeping("train_equal_weights", made_with, checkpoint, checkpoints)
    timed = _solve("equal weights", built, {}, calibrated_weights, training, keeping)
    say_how_it_ended("with equal weights", timed, training.tolerance, {})
    return weights_of(timed.solution)


class _Keeping(NamedTuple):
    """How the states of a stage are kept, and what it is made with beside its own parameters."""

    stage: str
    made_with: dict[str, Any]
    parameters: CheckpointParameters
    folder: Path | None


def _solve(
    title: str,
    built: BuiltProblem,
    thresholds: Mapping[str, float],
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    keeping: _Keeping,
    method: Method[Any] = _DEFAULT,
) -> Timed:
    start = built.initial_weights
    if training.start == "calibrated":
        start = {name: calibrated_weights[name].to(tensor) for name, tensor in start.items()}
    budget = Budget(training.max_steps, training.tolerance)
    if keeping.folder is None:
        return solve_durably(title, built, start, method, budget, None)
    # The stage too: two of them may differ in what they minimise alone, which nothing else says.
    own = {**keeping.made_with, **parameters_of("training", training), "stage": keeping.stage}
    decided_by = solve_settings(own, built.data.priority.name, thresholds, built, start)
    checkpoint = StageCheckpoint(keeping.folder, keeping.stage, decided_by, keeping.parameters)
    timed = solve_durably(title, built, start, method, budget, checkpoint)
    checkpoint.finish(timed.solution.state)
    return timed
