"""The models that a run is compared with, measured on every part of the data."""

from dataclasses import dataclass

from torch import Tensor, nn

from idbpd.experiment.limits.calibration import weights_alone
from idbpd.experiment.network import trained_network
from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import ModelParameters, ProblemParameters, SplitParameters
from idbpd.experiment.problem import criteria_of
from idbpd.mtl import Criteria, MultiTaskData, TaskQuality, measure_quality, own_parameters

Weights = dict[str, Tensor]
# Quality by part of the data ("train", "test") and task.
ByPart = dict[str, dict[str, TaskQuality]]

NO_LIMITS = "no limits"
EQUAL = "equal weights"
ALONE = "each alone"
BEST = "best weights"


@dataclass(frozen=True)
class Assessment(Bundle):
    """What saved weights are judged by: both parts of the data, the network that takes them, and the problem."""

    train: MultiTaskData
    test: MultiTaskData
    model: ModelParameters
    problem: ProblemParameters
    split: SplitParameters

    @property
    def parts(self) -> dict[str, MultiTaskData]:
        """The parts of the data by name; without held-out data there is one."""
        return {"train": self.train, "test": self.test} if self.split.test_fraction > 0 else {"train": self.train}

    @property
    def judged(self) -> str:
        """The name of the part that models are judged and compared on."""
        return list(self.parts)[-1]

    @property
    def criteria(self) -> Criteria:
        """The loss and the worst case of each task."""
        return criteria_of(self.problem)

    def network(self, weights: Weights) -> nn.Module:
        """The network with these weights."""
        return trained_network(self.model, self.train, weights)

    def measured(self, weights: Weights) -> ByPart:
        """The quality of a model on every part; on the judged one with pseudo-values."""
        network, criteria = self.network(weights), self.criteria
        return {
            part: measure_quality(network, data, criteria, with_spreads=part == self.judged)
            for part, data in self.parts.items()
        }


@dataclass(frozen=True)
class Rivals(Bundle):
    """The weights of the models that a run is compared with."""

    unconstrained_weights: Weights  # the priority task alone, then heads for the others
    equal_weights: Weights  # the sum of all mean losses
    single_task_weights: Weights  # each constraint task alone, by <task>/<parameter>
    fixed_weights: Weights  # the best of a sweep over weights of the mean losses; may be empty


def measure_rivals(rivals: Rivals, assessment: Assessment) -> dict[str, ByPart]:
    """The quality of every model by its name; a task that a model was not trained for is left out."""
    train, measured = assessment.train, assessment.measured
    priority = train.priority.name
    own = own_parameters(assessment.network(rivals.unconstrained_weights), train.features, train.position(priority))
    served = {priority, *(train.tasks[at].name for at in own.tasks)}
    without_limits = measured(rivals.unconstrained_weights)
    alone = {part: {priority: tasks[priority]} for part, tasks in without_limits.items()}
    for task in train.limited:
        for part, tasks in measured(weights_alone(rivals.single_task_weights, task.name)).items():
            alone[part][task.name] = tasks[task.name]
    found = {
        NO_LIMITS: {
            part: {task: quality for task, quality in tasks.items() if task in served}
            for part, tasks in without_limits.items()
        },
        EQUAL: measured(rivals.equal_weights),
        ALONE: alone,
    }
    return {**found, BEST: measured(rivals.fixed_weights)} if rivals.fixed_weights else found
