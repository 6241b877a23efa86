"""From parameters to the problem that is solved: the same for calibration, training and evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from idbpd.errors import ConfigurationError
from idbpd.experiment.compute_parameters import ComputeParameters
from idbpd.experiment.machine.devices import HOST, has_float64, resolve_device
from idbpd.experiment.network import build_network
from idbpd.experiment.node_inputs import Bundle
from idbpd.experiment.parameters import ModelParameters, ProblemParameters, ProblemSettings, Seed
from idbpd.experiment.ranks.remote import RemoteProblem
from idbpd.experiment.records.provenance import parameters_of
from idbpd.experiment.revival import revived
from idbpd.mtl import (
    LOSSES,
    WORST_CASES,
    Criteria,
    Criterion,
    FixedWeights,
    MultiTaskData,
    RobustMultiTask,
    Task,
    TaskQuality,
    WorstCase,
    measure_quality,
    output_offsets,
    worst_case_for,
)
from idbpd.mtl.problem import has_steady_weights, shares_beyond_limits
from idbpd.mtl.sharded import ShardedProblem
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.optim import Oracle, Solution


def criteria_of(problem: ProblemParameters | ProblemSettings) -> Criteria:
    """The loss of each task by its kind and its own choice, and its worst case: its own, or the one for all tasks."""

    def criterion(task: Task) -> Criterion:
        loss, options = problem.loss_choice(task.meaning.kind, task.options.get("loss"))
        return Criterion(LOSSES[loss](**options), worst_case_of(task, problem))

    return criterion


def worst_case_of(task: Task, problem: ProblemParameters | ProblemSettings) -> WorstCase:
    """The worst case over the samples of a task; a `ConfigurationError` says why it cannot be taken over them."""
    name, options = problem.worst_case_choice(task.options.get("worst_case"))
    try:
        return worst_case_for(task, WORST_CASES[name](**options))
    except ValueError as error:
        raise ConfigurationError(f"the worst case of the {task.name} task: {error}") from error


def protected(data: MultiTaskData, problem: ProblemParameters) -> dict[str, str]:
    """What the worst case of each task protects, in words, by the task's name."""
    return {task.name: worst_case_of(task, problem).protects(task.name, task.size) for task in data.tasks}


class BuiltProblem(NamedTuple):
    """A problem, its network with initial weights, and the data on the device where they are used."""

    oracle: Oracle
    network: nn.Module
    initial_weights: dict[str, Tensor]
    data: MultiTaskData
    offsets: Tensor | None = None  # which numbers of all trained weights do not decay
    remote: RemoteProblem | None = None  # where the samples are, if they are dealt to several ranks

    def placed(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """These weights in the order, on the device and in the precision of the initial weights."""
        return {name: weights[name].to(initial) for name, initial in self.initial_weights.items()}

    def start_from(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights of another model as a start: what weight decay has drawn to zero has its initial values again."""
        return revived(self.placed(weights), self.initial_weights)

    def first_weights(
        self, start: Literal["calibrated", "random"], calibrated_weights: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The weights that a solve starts from."""
        return self.placed(calibrated_weights) if start == "calibrated" else self.initial_weights

    def network_with(self, weights: dict[str, Tensor]) -> nn.Module:
        """The network of the problem, with these weights from now on."""
        self.network.load_state_dict(weights)
        return self.network

    def of_weighted_sum(
        self, problem: ProblemParameters, weights: Mapping[str, float], *, robust: bool = False
    ) -> "BuiltProblem":
        """The problem of minimising a weighted sum of the tasks' mean losses or worst cases, without a limit."""
        criteria, decay = criteria_of(problem), problem.weight_decay
        if self.remote is not None:
            shares = {task.name: weights[task.name] for task in self.data.tasks if weights.get(task.name, 0) > 0}
            terms = self.remote.terms(list(shares), mean=not robust)
            summed = ShardedProblem(terms, list(shares.values()), [], WeightDecay(decay, self.offsets), self.network)
            return self._replace(oracle=summed)
        oracle = FixedWeights(self.network, self.data, criteria, weights, decay, offsets=self.offsets, robust=robust)
        return self._replace(oracle=oracle)

    def here(self, data: MultiTaskData) -> MultiTaskData:
        """Other data on the device and in the precision of the problem's own."""
        return data.to(self.data.features.device, self.data.priority.targets.dtype)

    def quality(self, weights: dict[str, Tensor], data: MultiTaskData, criteria: Criteria) -> dict[str, TaskQuality]:
        """The quality of every task on some data with these weights, by the task's name."""
        return measure_quality(self.network_with(weights), self.here(data), criteria)


@dataclass(frozen=True)
class Experiment(Bundle):
    """All that decides which problem is solved: network, problem, precision, seed and data."""

    model: ModelParameters
    problem: ProblemParameters
    compute: ComputeParameters
    seed: Seed
    fingerprint: dict[str, str]  # of the data and their split

    @property
    def made_with(self) -> dict[str, Any]:
        """The same as plain data, by the names that people set."""
        return {
            **parameters_of("model", self.model),
            **parameters_of("problem", self.problem),
            "compute.dtype": self.compute.dtype,
            # The sums of another number of ranks have other last digits.
            **({"ranks": self.compute.distributed.ranks} if self.compute.distributed.ranks > 1 else {}),
            "seed": self.seed,
            "data and split (SHA-256)": self.fingerprint["split_sha256"],
        }

    def of_task_alone(self, task: str) -> "Experiment":
        """The experiment of training one task alone."""
        return replace(self, problem=self.problem.of_task_alone(task))

    def without_shares(self) -> "Experiment":
        """The experiment in which limited tasks count by their limits alone."""
        return replace(self, problem=self.problem.model_copy(update={"beyond_limits": 0.0}))

    def in_float64(self) -> "Experiment":
        """The same experiment in float64, in this process: what a certificate is computed with."""
        return replace(self, compute=self.compute.in_float64_here())

    def build(self, data: MultiTaskData, objective: str, thresholds: Mapping[str, float]) -> BuiltProblem:
        """The problem of minimising one task's worst case under the limits of others."""
        return build_problem(data, objective, thresholds, self.model, self.problem, self.compute, self.seed)


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
    network = build_network(model, data, seed)
    offsets = output_offsets(network, data.features) if problem.weight_decay > 0 else None
    remote = None
    if compute.distributed.ranks > 1:
        remote = RemoteProblem(data, network, model, problem, compute, seed)
    network, data = network.to(device, dtype), data.to(device, dtype)
    oracle: Oracle
    if remote is not None:
        tasks = tuple(data[name] for name in (objective, *thresholds))
        criteria = criteria_of(problem)
        shares = (1.0, *shares_beyond_limits(problem.beyond_limits, tasks, criteria))
        is_steady = has_steady_weights(criteria(task) for task in tasks)
        terms = remote.terms([task.name for task in tasks])
        decay = WeightDecay(problem.weight_decay, offsets)
        limits = list(thresholds.values())
        oracle = ShardedProblem(terms, shares, limits, decay, network, has_steady_weights=is_steady)
    else:
        oracle = RobustMultiTask(
            network,
            data,
            objective=objective,
            thresholds=thresholds,
            criteria=criteria_of(problem),
            weight_decay=problem.weight_decay,
            offsets=offsets,
            beyond_limits=problem.beyond_limits,
        )
    solver_device = device if has_float64(device) else HOST
    weights = {
        name: parameter.detach().clone().to(solver_device)
        for name, parameter in network.named_parameters()
        if parameter.requires_grad
    }
    return BuiltProblem(oracle, network, weights, data, offsets, remote)


def weights_of(solution: Solution) -> dict[str, Tensor]:
    """The answer as the network's named weights: a point has the structure that its start had."""
    assert isinstance(solution.x, dict)
    return solution.x
