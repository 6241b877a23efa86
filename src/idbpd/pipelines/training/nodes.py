"""Train the network under the limits."""

import logging
from typing import Any

from torch import Tensor

from idbpd.experiment.method_parameters import DEFAULT_METHODS, MethodsParameters
from idbpd.experiment.parameters import TrainingParameters
from idbpd.experiment.problem import Experiment, protected
from idbpd.experiment.solving.checkpoints import NO_CHECKPOINTS, Checkpointing
from idbpd.experiment.solving.constrained_training import Names, Trained, train_as_calibrated
from idbpd.mtl import MultiTaskData

logger = logging.getLogger(__name__)

NAMES = Names("train_constrained", "training", "with the constraint")


def train_constrained(
    train: MultiTaskData,
    threshold: dict[str, Any],
    calibrated_weights: dict[str, Tensor],
    training: TrainingParameters,
    experiment: Experiment,
    checkpointing: Checkpointing = NO_CHECKPOINTS,
    methods: MethodsParameters = DEFAULT_METHODS,
) -> Trained:
    """The weights under the constraint, the history of the run by step, when each step was done, and how it ended."""
    for name, sentence in protected(train, experiment.problem).items():
        logger.info("the worst case of the %s task protects %s", name, sentence)
    return train_as_calibrated(
        NAMES, train, threshold, calibrated_weights, training, methods, experiment, checkpointing
    )
