"""From parameters to the problem that is solved: the same for calibration, training and evaluation."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.mtl import MultiTaskData, RobustMultiTask, SharedNetwork, seeded_network
from idbpd.optim import Oracle, Solution
from idbpd.pipelines.devices import resolve_device
from idbpd.pipelines.parameters import ComputeParameters, ModelParameters, ProblemParameters


def thresholds_of(threshold: Mapping[str, Any]) -> dict[str, float]:
    """The threshold of each constraint task in what calibration left."""
    return {name: float(record["threshold"]) for name, record in threshold["tasks"].items()}


class BuiltProblem(NamedTuple):
    """A problem, the network it is about, the weights that the network began with, and the data where they are used."""

    oracle: Oracle
    network: SharedNetwork
    initial_weights: dict[str, Tensor]
    data: MultiTaskData


def build_problem(
    data: MultiTaskData,
    objective: str,
    thresholds: Mapping[str, float],
    model: ModelParameters,
    problem: ProblemParameters,
    compute: ComputeParameters,
    seed: int,
) -> BuiltProblem:
    """Put network and data on the device and state what is minimised under which thresholds."""
    device, dtype = resolve_device(compute.device), getattr(torch, compute.dtype)
    network = seeded_network(data.features.shape[1], model.hidden, data.classes, seed).to(device, dtype)
    data = data.to(device, dtype)
    oracle = RobustMultiTask(
        network,
        data,
        objective=objective,
        thresholds=thresholds,
        regularisation=problem.regularisation,
        weight_decay=problem.weight_decay,
    )
    weights = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    return BuiltProblem(oracle, network, weights, data)


def weights_of(solution: Solution) -> dict[str, Tensor]:
    """The answer as the network's named weights: a point has the structure that its start had."""
    assert isinstance(solution.x, dict)
    return solution.x
