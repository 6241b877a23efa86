"""How a table is divided: the parameters that decide its parts and its tasks."""

from dataclasses import dataclass

from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import FeatureParameters, SplitParameters, TasksParameters

NO_OPTIONS = TasksParameters({})


@dataclass(frozen=True)
class Division(Bundle):
    """All that decides how a table becomes tasks over a training and a test part."""

    split: SplitParameters
    features: FeatureParameters
    tasks: TasksParameters = NO_OPTIONS
    priority: str | None = None  # the task that has priority; None: the first
