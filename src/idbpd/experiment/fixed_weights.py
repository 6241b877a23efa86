"""Problems without limits, in which every task has a fixed weight: the usual alternative to constraints."""

from collections.abc import Mapping

from idbpd.experiment.problem import BuiltProblem, Experiment
from idbpd.mtl import MultiTaskData


def task_weights(data: MultiTaskData, of_priority: float) -> dict[str, float]:
    """The weight of every task: the others share equally what the priority task leaves.

    The weights sum to the number of tasks, so that weight decay is as strong as with the weight 1 for every task.
    """
    total = len(data.tasks)
    others = {task.name: total * (1 - of_priority) / len(data.limited) for task in data.limited}
    return {data.priority.name: total * of_priority, **others}


def with_fixed_weights(experiment: Experiment, data: MultiTaskData, weights: Mapping[str, float]) -> BuiltProblem:
    """The problem of minimising a weighted sum of the tasks' mean losses."""
    return experiment.build(data, data.priority.name, {}).of_weighted_sum(experiment.problem, weights)
