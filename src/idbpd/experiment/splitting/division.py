"""How a table is divided: the parameters that decide its parts and its tasks."""

from dataclasses import dataclass

from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import FeatureParameters, ProblemSettings, SplitParameters, TasksParameters

NO_OPTIONS = TasksParameters({})
DEFAULT_PROBLEM = ProblemSettings.model_validate({"lambda": 0.1, "weight_decay": "auto"})


@dataclass(frozen=True)
class Division(Bundle):
    """All that decides how a table becomes tasks over a training and a test part."""

    split: SplitParameters
    features: FeatureParameters
    tasks: TasksParameters = NO_OPTIONS
    priority: str | None = None  # the task that has priority; None: the first
    problem_settings: ProblemSettings = DEFAULT_PROBLEM  # the worst case for all tasks, which may be one over groups
