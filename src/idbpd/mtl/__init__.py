"""The robust multi-task problem: tasks, network, worst-case losses and the oracle that the solver works on."""

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.exported import ExportedModel
from idbpd.mtl.network import LabelProbabilities, SharedNetwork, seeded, seeded_network
from idbpd.mtl.problem import RobustMultiTask
from idbpd.mtl.quality import TaskQuality, measure_quality
from idbpd.mtl.scaling import FeatureScaling, fit_scaling
from idbpd.mtl.worst_case import WorstCase, worst_case

__all__ = [
    "ExportedModel",
    "FeatureScaling",
    "LabelProbabilities",
    "MultiTaskData",
    "RobustMultiTask",
    "SharedNetwork",
    "Task",
    "TaskQuality",
    "WorstCase",
    "fit_scaling",
    "measure_quality",
    "seeded",
    "seeded_network",
    "worst_case",
]
