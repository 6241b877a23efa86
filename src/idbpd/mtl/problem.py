"""Robust multi-task learning with a prioritised task, as the oracle that the solver works on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.mtl.blocked_passes import BlockedTanhPasses
from idbpd.mtl.constant_guess import guess_loss
from idbpd.mtl.criterion import Criteria, Criterion
from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.layer_curvature import LEAST_FACTOR, LayerCurvature
from idbpd.mtl.layer_moments import spread_of
from idbpd.mtl.module_passes import ModulePasses
from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.passes import Passes, weighted_cotangent
from idbpd.mtl.pieces import loss_values
from idbpd.mtl.sparse_rows import SparseRows
from idbpd.mtl.tanh_passes import TanhPasses
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.mtl.worst_cases import ChiSquare, KullbackLeibler, values_at
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers

# Hidden activations that are kept for the backward pass: 512 MB in float32.
MOST_ACTIVATIONS = 1 << 27


class _Forward(NamedTuple):
    """The last forward pass: a gradient at the same point needs no second one."""

    x: Tensor
    logits: tuple[Tensor, ...]  # per task, (labels, samples)


class RobustMultiTask:
    r"""Minimise the worst-case loss of one task while the worst-case losses of others stay under their thresholds.

    f(x) = worst case of the objective task + weight decay (`WeightDecay`) and g_i(x) = worst case of constraint task
    i - r_i. Both inner maxima are exact (see `idbpd.mtl.worst_cases`). Samples without weight in the worst case have no
    part in the gradient, and often that is most of them: an evaluation is one forward pass over all samples, and a
    gradient is a backward pass over the samples with weight that begins where the forward pass of the same point ended.

    Which samples have weight is known to the host only after waiting for a device. On an accelerator all samples take
    part in the backward pass (``dense``), those without weight with zero, and nothing waits.

    The point, the values and the gradients may live on another device than the network and the data: values are
    float64, which some accelerators do not have, and there the solver works on the host.

    Without thresholds it is the unconstrained problem of one task, which is what calibration solves.
    """

    def __init__(
        self,
        network: nn.Module,
        data: MultiTaskData,
        *,
        objective: str,
        thresholds: Mapping[str, float],
        criteria: Criteria,
        weight_decay: float = 0.0,
        offsets: Tensor | None = None,
        beyond_limits: float = 0.0,
        dense: bool | None = None,
    ) -> None:
        """Name the objective task and each constraint task's threshold.

        ``network`` gives one tensor of logits per task of the data. ``criteria`` says which loss and which worst case
        each task has. ``offsets`` marks the parameters that do not decay. ``beyond_limits`` is what the objective task
        may lose where a constraint task gains one, both as shares of a constant guess's loss; a constraint task whose
        limit has a higher price than that ends at its limit. None for ``dense`` is True on accelerators.
        """
        if objective in thresholds:
            raise ValueError(f"task {objective!r} cannot be the objective and a constraint at once")
        self._tasks = tuple(data[name] for name in (objective, *thresholds))
        self._criteria = tuple(criteria(task) for task in self._tasks)
        self._targets = tuple(task.targets.T.contiguous() for task in self._tasks)
        self._passes = passes_of(network, data, self._tasks)
        self._thresholds = tuple(thresholds.values())
        self._decay = WeightDecay(weight_decay, offsets)
        self._shares = shares_beyond_limits(beyond_limits, self._tasks, criteria)
        self._dense = self._passes.device.type != "cpu" if dense is None else dense
        self._curvature = LayerCurvature(network, data, self._tasks, weight_decay)
        self._last: _Forward | None = None

    @property
    def constraint_count(self) -> int:
        """The number of constraint tasks."""
        return len(self._tasks) - 1

    def start(self, x: Tensor) -> Maximisers:
        """Uniform weights: the centre of each simplex."""
        uniform = [torch.full((t.size,), 1 / t.size, dtype=torch.float64, device=x.device) for t in self._tasks]
        return Maximisers(uniform[0], tuple(uniform[1:]))

    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        """The curvature that is known before the first step, as a metric."""
        return self._curvature.at_start(x)

    @torch.no_grad()
    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:
        """The same with the curvature of the losses at a point: each task counts by its weight in the Lagrangian."""
        if not has_steady_weights(self._criteria):
            return None
        factors = [1.0, *(sum(pair) for pair in zip(multipliers.tolist(), self._shares, strict=True))]
        spreads, counts = [], []
        found = zip(
            self._criteria, self._logits_at(evaluation), self._targets, evaluation.maximisers.points, strict=True
        )
        for (criterion, logits, targets, weights), factor in zip(found, factors, strict=True):
            assert weights is not None  # every task of this problem has a maximiser
            counts.append(max(factor, LEAST_FACTOR) * weights.to(logits))
            spreads.append(spread_of(criterion.loss, logits, targets, counts[-1]))
        return self._curvature.at(evaluation.x, spreads, counts)

    @torch.no_grad()
    def losses(self, x: Tensor) -> tuple[Tensor, ...]:
        """The loss of every sample, per task of the problem: one forward pass over all samples."""
        logits = self._passes.forward(x.to(self._passes.device))
        self._last = _Forward(x, logits)
        return tuple(
            loss_values(criterion.loss, of_task, targets, dim=0)
            for criterion, of_task, targets in zip(self._criteria, logits, self._targets, strict=True)
        )

    @torch.no_grad()
    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:  # noqa: ARG002
        """One forward pass over all samples; ``warm`` and ``steps`` are not needed where the maximisers are exact."""
        worst = [
            criterion.worst(losses.to(x.device))
            for criterion, losses in zip(self._criteria, self.losses(x), strict=True)
        ]
        f = worst[0].value + self._decay.value(x)
        for constraint, share in zip(worst[1:], self._shares, strict=True):
            if share > 0:
                f = f + share * constraint.value
        g = f.new_zeros(self.constraint_count)
        for at, (constraint, threshold) in enumerate(zip(worst[1:], self._thresholds, strict=True)):
            g[at] = constraint.value - threshold
        maximisers = Maximisers(worst[0].weights, tuple(w.weights for w in worst[1:]))
        # The maxima are exact, but the losses they are taken over are rounded.
        error = torch.finfo(x.dtype).eps * torch.stack([one.value.abs() for one in worst])
        return Evaluation(x, f, g, maximisers, error)

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Danskin: the gradient of each worst case is the gradient of the loss under its worst weights."""
        weights = (evaluation.maximisers.y, *evaluation.maximisers.w)
        gradients = self._weighted_gradients(evaluation, weights)
        slope = self._decay.add_slope(gradients[0], evaluation.x)
        for of_constraint, share in zip(gradients[1:], self._shares, strict=True):
            if share > 0:
                slope.add_(of_constraint, alpha=share)
        return Gradients(slope, gradients[1:])

    @torch.no_grad()
    def cut_values(self, evaluation: Evaluation, constraint: int, points: Tensor) -> Tensor:
        """The constraint under given weights, a row each: one product with the losses of the last forward pass."""
        logits, targets = self._logits_at(evaluation)[1 + constraint], self._targets[1 + constraint]
        loss, worst_case = self._criteria[1 + constraint]
        losses = loss_values(loss, logits, targets, dim=0).to(points)
        return values_at(points, losses, worst_case) - self._thresholds[constraint]

    @torch.no_grad()
    def cut_gradient(self, evaluation: Evaluation, constraint: int, points: Tensor, factors: Tensor) -> Tensor:
        """A constraint is linear in its weights, so that the sum is one backward pass under the summed weights."""
        weights = [points.new_zeros(task.size) for task in self._tasks]
        weights[1 + constraint] = factors @ points
        return self._weighted_gradients(evaluation, weights)[1 + constraint]

    def _weighted_gradients(self, evaluation: Evaluation, weights: Sequence[Tensor | None]) -> Tensor:
        """The gradient of the loss of each task under given weights of its samples: (tasks, len(x))."""
        cotangents = []
        found = zip(self._criteria, self._logits_at(evaluation), self._targets, weights, strict=True)
        for criterion, logits, targets, task_weights in found:
            assert task_weights is not None  # every task of this problem has a maximiser
            of_task = task_weights.to(logits)
            cotangents.append(weighted_cotangent(criterion.loss, logits, targets, of_task, dense=self._dense))
        return self._passes.backward(cotangents).to(evaluation.x.device)

    def _logits_at(self, evaluation: Evaluation) -> tuple[Tensor, ...]:
        """The logits at an evaluated point: kept from the last forward pass, or else from another one."""
        if self._last is None or self._last.x is not evaluation.x:
            self.losses(evaluation.x)
        assert self._last is not None  # it has just been set
        return self._last.logits


def has_steady_weights(criteria: Iterable[Criterion]) -> bool:
    """Whether the curvature at fixed weights of samples is worth knowing.

    In a divergence ball the weights change so fast with the losses that it misleads: a table of 280 rows took 333 steps
    to 1e-3 without it and was not done after 1500 with it.
    """
    return not any(isinstance(criterion.worst_case, ChiSquare | KullbackLeibler) for criterion in criteria)


def shares_beyond_limits(beyond_limits: float, tasks: tuple[Task, ...], criteria: Criteria) -> tuple[float, ...]:
    """The weight of each constraint task in the objective: tasks with losses of different size count the same."""
    if beyond_limits == 0:
        return (0.0,) * (len(tasks) - 1)
    first, *others = (guess_loss(task, criteria) for task in tasks)
    return tuple(beyond_limits * first / guess if guess > 0 else 0.0 for guess in others)


def passes_of(network: nn.Module, data: MultiTaskData, tasks: tuple[Task, ...]) -> Passes:
    """The passes: written by hand for the default network (in blocks if rows are many), by autograd for any other."""
    if isinstance(network, SharedNetwork):
        many = len(data.features) * network.trunk.out_features > MOST_ACTIVATIONS
        if isinstance(data.features, SparseRows) or (many and data.features.device.type == "cpu"):
            return BlockedTanhPasses(network, data, tasks)
        return TanhPasses(network, data, tasks)
    return ModulePasses(network, data, tasks)
