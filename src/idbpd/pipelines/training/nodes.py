"""Train the network under the limits, and two others for comparison."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.experiment.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.durable_solve import Budget, Timed, solve_durably, solve_settings
from idbpd.experiment.history import history_frame
from idbpd.experiment.parameters import DEFAULT_METHODS, MethodsParameters, TrainingParameters
from idbpd.experiment.problem import BuiltProblem, Experiment, criteria_of, protected, weights_of
from idbpd.experiment.provenance import parameters_of, require_same
from idbpd.experiment.thresholds import thresholds_of
from idbpd.mtl import EqualWeights, MultiTaskData
from idbpd.optim import IDBPD, Method
from idbpd.pipelines.training.endings import reached, say_how_it_ended

logger = logging.getLogger(__name__)


def train_constrained(
    train: MultiTaskData,
    threshold: dict[str, Any],
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
    methods: MethodsParameters = DEFAULT_METHODS,
) -> tuple[dict[str, Tensor], pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """The weights under the constraint, the history of the run by step, when each step was done, and how it ended.

    The clock is apart from the history: the same run has the same history to the last bit, but never the same clock.
    """
    made_with = experiment.made_with
    require_same(threshold["made_with"], made_with, "threshold", "calibrate")
    thresholds = thresholds_of(threshold)
    for name, sentence in protected(train, experiment.problem).items():
        logger.info("the worst case of the %s task protects %s", name, sentence)
    built = experiment.build(train, train.priority.name, thresholds)
    options = methods.of(training.method, training.max_steps)
    named_options = {f"methods.{training.method}.{name}": value for name, value in options.items()}
    stage = _Stage("train_constrained", "training", {**made_with, **named_options}, checkpointing)
    method = make_method(training.method, options)
    timed = _solve(stage, built, thresholds, calibrated_weights, training, method)
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
        **experiment.fingerprint,  # of the data it was trained on, also where they were split in another run
    }
    clock = pd.DataFrame({"step": solution.history.step, "seconds": timed.seconds})
    return weights_of(solution), history_frame(solution, list(thresholds)), clock, outcome


def train_unconstrained(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> dict[str, Tensor]:
    """The weights that the priority task alone would choose: what the constraint costs, and what it prevents."""
    built = experiment.build(train, train.priority.name, {})
    stage = _Stage("train_unconstrained", "unconstrained", experiment.made_with, checkpointing)
    return _weights_for_comparison(stage, "without the constraint", built, calibrated_weights, training)


def train_equal_weights(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> dict[str, Tensor]:
    """The weights of the usual multi-task training, in which the mean losses of all tasks count the same."""
    built = experiment.build(train, train.priority.name, {})
    problem = experiment.problem
    oracle = EqualWeights(built.network, built.data, criteria_of(problem), problem.weight_decay)
    built = built._replace(oracle=oracle)
    stage = _Stage("train_equal_weights", "equal weights", experiment.made_with, checkpointing)
    return _weights_for_comparison(stage, "with equal weights", built, calibrated_weights, training)


class _Stage(NamedTuple):
    """One solve: its name in checkpoints and on the progress bar, what it is made with, and where states are kept."""

    name: str
    title: str
    made_with: dict[str, Any]  # beside the parameters of training
    checkpointing: Checkpointing


def _weights_for_comparison(
    stage: _Stage,
    which: str,
    built: BuiltProblem,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
) -> dict[str, Tensor]:
    """The weights of a model without limits; its method is the default one, whatever ``training.method`` is."""
    timed = _solve(stage, built, {}, calibrated_weights, training, IDBPD())
    say_how_it_ended(which, timed, training.tolerance, {})
    return weights_of(timed.solution)


def _solve(
    stage: _Stage,
    built: BuiltProblem,
    thresholds: Mapping[str, float],
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    method: Method[Any],
) -> Timed:
    start = built.first_weights(training.start, calibrated_weights)
    # The stage counts too: what an unconstrained model minimises is in no other setting.
    own = {**stage.made_with, **parameters_of("training", training), "stage": stage.name}
    made_with = solve_settings(own, built.data.priority.name, thresholds, built, start)
    checkpoint = stage.checkpointing.of(stage.name, made_with)
    budget = Budget(training.max_steps, training.tolerance)
    timed = solve_durably(stage.title, built, start, method, budget, checkpoint)
    if checkpoint is not None:
        checkpoint.finish(timed.solution.state)
    return timed
