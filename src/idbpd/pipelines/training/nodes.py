"""Train the network under the limits."""

import logging
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.experiment.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.durable_solve import Budget
from idbpd.experiment.endings import reached, say_how_it_ended
from idbpd.experiment.history import history_frame
from idbpd.experiment.parameters import DEFAULT_METHODS, MethodsParameters, TrainingParameters
from idbpd.experiment.problem import Experiment, protected, weights_of
from idbpd.experiment.provenance import parameters_of, require_same
from idbpd.experiment.stage import Stage
from idbpd.experiment.thresholds import thresholds_of
from idbpd.mtl import MultiTaskData

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
    settings = {**made_with, **named_options, **parameters_of("training", training)}
    timed = Stage("train_constrained", "training", settings, checkpointing).solve(
        built,
        thresholds,
        built.first_weights(training.start, calibrated_weights),
        Budget(training.max_steps, training.tolerance),
        make_method(training.method, options),
    )
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
