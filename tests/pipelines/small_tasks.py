"""Small data of two or three tasks, and parameters to train on them in a moment."""

import torch
from torch import Tensor

from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.parameters import (
    CalibrationParameters,
    ModelParameters,
    ProblemParameters,
    TrainingParameters,
)
from idbpd.experiment.problem import Experiment
from idbpd.mtl import MultiTaskData, Task

MODEL = ModelParameters(hidden=6)
PROBLEM = ProblemParameters.model_validate({"lambda": 1.0, "weight_decay": 1e-3})
COMPUTE = ComputeParameters(device="cpu", dtype="float64")
CALIBRATION = CalibrationParameters(slack=0.1, max_steps=40, tolerance=1e-4)
TRAINING = TrainingParameters(start="calibrated", max_steps=40, tolerance=1e-4)
FINGERPRINT = {"data_sha256": "d", "split_sha256": "s"}
EXPERIMENT = Experiment(MODEL, PROBLEM, COMPUTE, seed=0, fingerprint=FINGERPRINT)


def small_tasks(count: int) -> MultiTaskData:
    """The first so many of three tasks over the same features, each with two classes."""
    features = torch.randn(40, 4)
    names = ("first", "second", "third")[:count]
    return MultiTaskData(features, tuple(_task(name, features @ torch.randn(4, 2)) for name in names))


def _task(name: str, logits: Tensor) -> Task:
    """A task whose classes follow from the features, with some noise."""
    chosen = torch.multinomial((3 * logits).softmax(dim=-1), 1)[:, 0]
    targets = torch.nn.functional.one_hot(chosen, logits.shape[1]).float()
    return Task(name, tuple(f"{name}{at}" for at in range(logits.shape[1])), torch.arange(len(logits)), targets)
