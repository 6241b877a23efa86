"""The robust multi-task problem: tasks, network, worst-case losses and the oracle that the solver works on."""

from idbpd.mtl.bootstrap import worst_case_upper_bound
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.equal_weights import EqualWeights
from idbpd.mtl.exported import ExportedModel
from idbpd.mtl.network import LabelProbabilities, SharedNetwork, seeded, seeded_network
from idbpd.mtl.problem import RobustMultiTask
from idbpd.mtl.quality import LabelQuality, TaskQuality, guess_loss, measure_quality, sample_losses
from idbpd.mtl.scaling import FeatureScaling, fit_scaling
from idbpd.mtl.worst_case import WorstCase, worst_case

__all__ = [
    "EqualWeights",
    "ExportedModel",
    "FeatureScaling",
    "LabelProbabilities",
    "LabelQuality",
    "MultiTaskData",
    "RobustMultiTask",
    "SharedNetwork",
    "Task",
    "TaskQuality",
    "WorstCase",
    "fit_scaling",
    "guess_loss",
    "measure_quality",
    "sample_losses",
    "seeded",
    "seeded_network",
    "worst_case",
    "worst_case_upper_bound",
]
