"""The models that a run is compared with, measured on every part of the data."""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor, nn

from idbpd.experiment.calibration import weights_alone
from idbpd.experiment.network import trained_network
from idbpd.experiment.parameters import ModelParameters, SplitParameters
from idbpd.mtl import Criteria, MultiTaskData, TaskQuality, measure_quality, own_parameters

Weights = dict[str, Tensor]
# Quality by part of the data ("train", "test") and task.
ByPart = dict[str, dict[str, TaskQuality]]

NO_LIMITS = "no limits"
EQUAL = "equal weights"
ALONE = "each alone"
BEST = "best weights"


class Rivals(NamedTuple):
    """The weights of the models that a run is compared with."""

    unconstrained: Weights  # the priority task alone, then heads for the others
    equal: Weights  # the sum of all mean losses
    alone: Weights  # each constraint task alone, by <task>/<parameter>
    fixed: Weights  # the best of a sweep over weights of the mean losses; may be empty


def parts_of(train: MultiTaskData, test: MultiTaskData, split: SplitParameters) -> dict[str, MultiTaskData]:
    """The parts of the data by name; without held-out data there is one."""
    return {"train": train, "test": test} if split.test_fraction > 0 else {"train": train}


def measured_on(network: nn.Module, parts: Mapping[str, MultiTaskData], criteria: Criteria) -> ByPart:
    """The quality of a model on every part; on the last one, which models are compared on, with pseudo-values."""
    *_, last = parts
    return {part: measure_quality(network, data, criteria, with_spreads=part == last) for part, data in parts.items()}


def measure_rivals(
    rivals: Rivals, model: ModelParameters, train: MultiTaskData, parts: Mapping[str, MultiTaskData], criteria: Criteria
) -> dict[str, ByPart]:
    """The quality of every model by its name; a task that a model was not trained for is left out."""

    def measured(weights: Weights) -> ByPart:
        network = trained_network(model, train, weights)
        return measured_on(network, parts, criteria)

    priority = train.priority.name
    own = own_parameters(trained_network(model, train, rivals.unconstrained), train.features, train.position(priority))
    served = {priority, *(train.tasks[at].name for at in own.tasks)}
    without_limits = measured(rivals.unconstrained)
    alone = {part: {priority: tasks[priority]} for part, tasks in without_limits.items()}
    for task in train.limited:
        for part, tasks in measured(weights_alone(rivals.alone, task.name)).items():
            alone[part][task.name] = tasks[task.name]
    found = {
        NO_LIMITS: {
            part: {task: quality for task, quality in tasks.items() if task in served}
            for part, tasks in without_limits.items()
        },
        EQUAL: measured(rivals.equal),
        ALONE: alone,
    }
    return {**found, BEST: measured(rivals.fixed)} if rivals.fixed else found
