"""Train models without limits, to compare with: what the limits cost, and what others would have done."""

import logging
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError
from idbpd.experiment.fixed_weights import with_fixed_weights
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.parameters import TrainingParameters
from idbpd.experiment.problem import BuiltProblem, Experiment, weights_of
from idbpd.experiment.records.provenance import parameters_of
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.solving.durable_solve import Budget, Timed
from idbpd.experiment.solving.endings import say_how_it_ended
from idbpd.experiment.solving.stage import Stage
from idbpd.experiment.splitting.division import Division
from idbpd.experiment.splitting.validation import Parts, divided_again
from idbpd.mtl import MultiTaskData, own_parameters
from idbpd.optim import IDBPD
from idbpd.optim.restricted_oracle import RestrictedOracle
from idbpd.pipelines.training.parameters import ComparisonParameters
from idbpd.pipelines.training.sweep import Tried, choose, sweep

logger = logging.getLogger(__name__)

FRACTION = "comparison.validation_fraction"
OWN = "own"  # the name under which the solver knows the parameters that other tasks have to themselves


def train_unconstrained(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> dict[str, Tensor]:
    """The weights that the priority task alone would choose, with heads for the other tasks.

    The comparison shows what the limits cost, and what they prevent. Training for the priority task leaves the heads of
    the others untrained, and a comparison with those would be unfair. So they are trained afterwards; the rest of the
    network stays as the priority task made it.
    """
    built = experiment.build(train, train.priority.name, {})
    made_with = {**experiment.made_with, **parameters_of("training", training)}
    alone = Stage("train_unconstrained", "unconstrained", made_with, checkpointing)
    timed = _without_limits(alone, built, calibrated_weights, training)
    say_how_it_ended("no limits, the priority task alone", timed, training.tolerance, {})
    heads = Stage("train_heads", "heads of the other tasks", made_with, checkpointing)
    return _with_trained_heads(heads, weights_of(timed.solution), built, training, experiment)


def train_equal_weights(
    train: MultiTaskData,
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> dict[str, Tensor]:
    """The weights of the usual multi-task training, in which the mean losses of all tasks count the same."""
    built = with_fixed_weights(experiment, train, {task.name: 1.0 for task in train.tasks})
    made_with = {**experiment.made_with, **parameters_of("training", training)}
    stage = Stage("train_equal_weights", "equal weights", made_with, checkpointing)
    timed = _without_limits(stage, built, calibrated_weights, training)
    say_how_it_ended("equal weights, the sum of all mean losses", timed, training.tolerance, {})
    return weights_of(timed.solution)


def train_fixed_weights(
    table: TaskTable,
    rows: dict[str, Tensor],
    train: MultiTaskData,
    threshold: dict[str, Any],
    calibrated_weights: dict[str, Tensor],
    comparison: ComparisonParameters,
    training: TrainingParameters,
    division: Division,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights of the best of a sweep over fixed weights of the tasks' mean losses, and the sweep.

    The best is chosen on a validation part of the training rows, and then trained on all of them. There are no weights
    where the sweep is empty, or where there is no validation part: a comparison does not end a run.
    """
    begin = time.perf_counter()
    parts = _validation_parts(table, rows, comparison, division, train)
    if parts is None:
        return {}, {"chosen": None, "points": []}
    tried = sweep(parts, thresholds_of(threshold), comparison, training.tolerance, experiment, checkpointing)
    seconds = time.perf_counter() - begin
    best = choose(tried, train.priority.name, comparison.margin)
    built = with_fixed_weights(experiment, train, best.weights)
    made_with = {**experiment.made_with, **parameters_of("training", training), "weights": best.weights}
    stage = Stage("train_fixed_weights", "best fixed weights", made_with, checkpointing)
    timed = _without_limits(stage, built, calibrated_weights, training)
    words = f"{_in_words(best, tried, comparison.margin)}; the sweep took {seconds:.1f} s"
    say_how_it_ended(f"best weights ({words})", timed, training.tolerance, {})
    record = {
        "chosen": best.weights,
        "margin": comparison.margin,
        "validation_fraction": comparison.validation_fraction,
        "points": [one._asdict() for one in tried],
    }
    return weights_of(timed.solution), record


def _validation_parts(
    table: TaskTable,
    rows: dict[str, Tensor],
    comparison: ComparisonParameters,
    division: Division,
    train: MultiTaskData,
) -> Parts | None:
    if not comparison.sweep:
        return None
    try:
        return divided_again(table, rows["train"].numpy(), comparison.validation_fraction, division, FRACTION, train)
    except DataError as error:
        logger.warning("best weights: not compared with, because there is no validation part: %s", error)
        return None


def _in_words(best: Tried, tried: Sequence[Tried], margin: float) -> str:
    """What was chosen, and why."""
    weights = ", ".join(f"{task} {weight:.3g}" for task, weight in best.weights.items())
    why = (
        f"the best of {len(tried)} for the priority task that keeps all limits to within {margin:.0%}"
        if best.largest_excess <= margin
        else f"none of {len(tried)} keeps all limits to within {margin:.0%}, this one comes nearest with "
        f"{1 + best.largest_excess:.3g} times a limit"
    )
    return f"{weights}; on a validation part {why}"


def _without_limits(
    stage: Stage, built: BuiltProblem, calibrated_weights: dict[str, Tensor], training: TrainingParameters
) -> Timed:
    """A model for comparison is solved by the default method, whatever ``training.method`` is."""
    start = built.first_weights(training.start, calibrated_weights)
    return stage.solve(built, {}, start, _budget(training), IDBPD())


def _with_trained_heads(
    stage: Stage, weights: dict[str, Tensor], built: BuiltProblem, training: TrainingParameters, experiment: Experiment
) -> dict[str, Tensor]:
    """The weights after training only those that the priority task does not depend on, for the other tasks."""
    data = built.data
    own = own_parameters(built.network, data.features, data.position(data.priority.name))
    served = [data.tasks[at].name for at in own.tasks]
    for task in data.limited:
        if task.name not in served:
            logger.info(
                "no limits: the network has no parameters for the %s task that the priority task does not use; "
                "the model without limits is not compared in it",
                task.name,
            )
    if not served:
        return weights
    others = built.of_weighted_sum(experiment.problem, dict.fromkeys(served, 1.0))
    solved = _flat(weights)
    restricted = RestrictedOracle(others.oracle, solved, own.places)
    # From the initial weights: weight decay has drawn those of the solved model to zero, where deeper heads stay.
    start = {OWN: _flat(built.initial_weights)[own.places.to(solved.device)]}
    timed = stage.solve(built._replace(oracle=restricted), {}, start, _budget(training), IDBPD())
    say_how_it_ended("no limits, the heads of the other tasks", timed, training.tolerance, {})
    whole = restricted.whole(weights_of(timed.solution)[OWN])
    pieces = torch.split(whole, [tensor.numel() for tensor in weights.values()])
    return {name: piece.view_as(weights[name]) for name, piece in zip(weights, pieces, strict=True)}


def _flat(weights: dict[str, Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in weights.values()])


def _budget(training: TrainingParameters) -> Budget:
    return Budget(training.max_steps, training.tolerance)
