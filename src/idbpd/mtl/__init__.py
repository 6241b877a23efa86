"""The robust multi-task problem: tasks, network, worst-case losses and the oracle that the solver works on."""

from idbpd.mtl.constant_guess import constant_logits, guess_loss
from idbpd.mtl.constant_quality import measure_constant
from idbpd.mtl.criterion import Criteria, Criterion, same_for_all
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.exported import AnsweredTask, ExportedModel
from idbpd.mtl.fixed_weights import FixedWeights
from idbpd.mtl.group_quality import GroupQuality, measure_constant_by_group, measure_groups
from idbpd.mtl.kinds import DISTRIBUTION, KINDS, Kind, Meaning
from idbpd.mtl.losses import LOSSES, CrossEntropy, Huber, Logistic, Loss, Squared, default_loss
from idbpd.mtl.metrics import HEADLINE, SAMPLE_ERRORS, is_better
from idbpd.mtl.network import AnswerNetwork, SharedNetwork, seeded, seeded_network
from idbpd.mtl.own_parameters import OwnParameters, own_parameters
from idbpd.mtl.problem import RobustMultiTask
from idbpd.mtl.quality import LabelQuality, TaskQuality, measure_quality, sample_errors, sample_losses
from idbpd.mtl.scaling import FeatureScaling, fit_scaling
from idbpd.mtl.sparse_rows import Features, SparseRows
from idbpd.mtl.weight_decay import output_offsets
from idbpd.mtl.worst_cases import (
    WORST_CASES,
    Groups,
    Penalty,
    WorstCase,
    WorstWeighting,
    worst_case_for,
    worst_weighting,
)

__all__ = [
    "DISTRIBUTION",
    "HEADLINE",
    "KINDS",
    "LOSSES",
    "SAMPLE_ERRORS",
    "WORST_CASES",
    "AnswerNetwork",
    "AnsweredTask",
    "Criteria",
    "Criterion",
    "CrossEntropy",
    "ExportedModel",
    "FeatureScaling",
    "Features",
    "FixedWeights",
    "GroupQuality",
    "Groups",
    "Huber",
    "Kind",
    "LabelQuality",
    "Logistic",
    "Loss",
    "Meaning",
    "MultiTaskData",
    "OwnParameters",
    "Penalty",
    "RobustMultiTask",
    "SharedNetwork",
    "SparseRows",
    "Squared",
    "Task",
    "TaskQuality",
    "WorstCase",
    "WorstWeighting",
    "constant_logits",
    "default_loss",
    "fit_scaling",
    "guess_loss",
    "is_better",
    "measure_constant",
    "measure_constant_by_group",
    "measure_groups",
    "measure_quality",
    "output_offsets",
    "own_parameters",
    "same_for_all",
    "sample_errors",
    "sample_losses",
    "seeded",
    "seeded_network",
    "worst_case_for",
    "worst_weighting",
]
