"""Train the network under limits, and say how it ended."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from idbpd.baselines import make_method
from idbpd.experiment.limits.thresholds import thresholds_of
from idbpd.experiment.method_parameters import MethodsParameters
from idbpd.experiment.parameters import TrainingParameters
from idbpd.experiment.problem import Experiment, weights_of
from idbpd.experiment.records.provenance import parameters_of, require_same
from idbpd.experiment.solving.checkpoints import Checkpointing
from idbpd.experiment.solving.durable_solve import Budget
from idbpd.experiment.solving.endings import reached, say_how_it_ended
from idbpd.experiment.solving.history import history_frame
from idbpd.experiment.solving.stage import Stage
from idbpd.mtl import MultiTaskData


class Trained(NamedTuple):
    """A model under limits.

    The clock is apart from the history: the same run has the same history to the last bit, but never the same clock.
    """

    weights: dict[str, Tensor]
    history: pd.DataFrame  # by step
    clock: pd.DataFrame  # when each step was done
    outcome: dict[str, Any]  # how it ended


class Names(NamedTuple):
    """What a solve is called: in checkpoints, on the progress bar, and in the line that says how it ended."""

    stage: str
    progress: str
    ending: str


def train_as_calibrated(
    names: Names,
    train: MultiTaskData,
    threshold: Mapping[str, Any],
    calibrated_weights: Mapping[str, Tensor],
    training: TrainingParameters,
    methods: MethodsParameters,
    experiment: Experiment,
    checkpointing: Checkpointing,
) -> Trained:
    """`train_under_limits`, if they were calibrated for this problem, from the point that `training.start` names."""
    require_same(threshold["made_with"], experiment.made_with, "threshold", "calibrate")
    start = calibrated_weights if training.start == "calibrated" else None
    return train_under_limits(names, train, threshold, start, training, methods, experiment, checkpointing)


def train_under_limits(
    names: Names,
    train: MultiTaskData,
    threshold: Mapping[str, Any],
    start: Mapping[str, Tensor] | None,
    training: TrainingParameters,
    methods: MethodsParameters,
    experiment: Experiment,
    checkpointing: Checkpointing,
) -> Trained:
    """Minimise the worst case of the priority task under the limits in the record of calibration.

    ``start`` are the weights that it starts from; None: the initial ones of the network.
    """
    thresholds = thresholds_of(threshold)
    built = experiment.build(train, train.priority.name, thresholds)
    options = methods.of(training.method, training.max_steps)
    named_options = {f"methods.{training.method}.{name}": value for name, value in options.items()}
    settings = {**experiment.made_with, **named_options, **parameters_of("training", training)}
    timed = Stage(names.stage, names.progress, settings, checkpointing).solve(
        built,
        thresholds,
        built.initial_weights if start is None else built.placed(start),
        Budget(training.max_steps, training.tolerance),
        make_method(training.method, options),
    )
    say_how_it_ended(names.ending, timed, training.tolerance, threshold["tasks"])
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
        "made_with": experiment.made_with,
        **experiment.fingerprint,  # of the data it was trained on, also where they were split in another run
    }
    clock = pd.DataFrame({"step": solution.history.step, "seconds": timed.seconds})
    return Trained(weights_of(solution), history_frame(solution, list(thresholds)), clock, outcome)
