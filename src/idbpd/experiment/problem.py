"""From parameters to the problem that is solved: the same for calibration, training and evaluation."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from idbpd.experiment.devices import HOST, has_float64, resolve_device
from idbpd.experiment.network import build_network
from idbpd.experiment.parameters import ComputeParameters, ModelParameters, ProblemParameters
from idbpd.mtl import LOSSES, WORST_CASES, Criteria, MultiTaskData, RobustMultiTask, same_for_all
from idbpd.optim import Oracle, Solution


def thresholds_of(threshold: Mapping[str, Any]) -> dict[str, float]:
    """The threshold of each constraint task in what calibration left."""
    return {name: float(record["threshold"]) for name, record in threshold["tasks"].items()}


def criteria_of(problem: ProblemParameters) -> Criteria:
    """The loss and the worst case that the parameters choose, for all tasks."""
    loss, loss_options = problem.loss_choice
    worst_case, worst_case_options = problem.worst_case_choice
    return same_for_all(LOSSES[loss](**loss_options), WORST_CASES[worst_case](**worst_case_options))


class BuiltProblem(NamedTuple):
    """A problem, the network it is about, the weights that the network began with, and the data where they are used."""

    oracle: Oracle
    network: nn.Module
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
    """Put network and data on the device and state what is minimised under which thresholds.

    On a device without float64 the weights that the solver works on stay on the host: its values are float64. What is
    asked for in float64, such as a certificate, is computed on the host altogether.
    """
    device, dtype = resolve_device(compute.device), getattr(torch, compute.dtype)
    if dtype is torch.float64 and not has_float64(device):
        device = HOST
    network = build_network(model, data, seed).to(device, dtype)
    data = data.to(device, dtype)
    oracle = RobustMultiTask(
        network,
        data,
        objective=objective,
        thresholds=thresholds,
        criteria=criteria_of(problem),
        weight_decay=problem.weight_decay,
    )
    solver_device = device if has_float64(device) else HOST
    weights = {
        name: parameter.detach().clone().to(solver_device)
        for name, parameter in network.named_parameters()
        if parameter.requires_grad
    }
    return BuiltProblem(oracle, network, weights, data)


def weights_of(solution: Solution) -> dict[str, Tensor]:
    """The answer as the network's named weights: a point has the structure that its start had."""
    assert isinstance(solution.x, dict)
    return solution.x
