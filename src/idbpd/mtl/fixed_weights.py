"""Several tasks at once without limits: minimise a weighted sum of their mean losses, or of their worst cases."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria
from idbpd.mtl.data import MultiTaskData
from idbpd.mtl.layer_curvature import LayerCurvature
from idbpd.mtl.layer_moments import spread_of
from idbpd.mtl.passes import Cotangent
from idbpd.mtl.pieces import loss_slopes, loss_values
from idbpd.mtl.problem import passes_of
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers


class FixedWeights:
    """Minimise sum_t weight_t * loss of task t + weight decay (`WeightDecay`), without a limit.

    The loss of a task is its mean loss, as is usual, or its worst case (``robust``). An oracle for the same solver.
    Weights of one are the usual sum with equal weights.
    """

    def __init__(
        self,
        network: nn.Module,
        data: MultiTaskData,
        criteria: Criteria,
        weights: Mapping[str, float],
        weight_decay: float,
        *,
        offsets: Tensor | None = None,
        robust: bool = False,
    ) -> None:
        """``network`` gives one tensor of logits per task of the data; unless ``robust``, only the losses of
        ``criteria`` count.

        ``weights`` are by task. A task without one, or with zero, has no part in any pass. ``offsets`` marks the
        parameters that do not decay.
        """
        for name, weight in weights.items():
            data.position(name)  # a KeyError names the tasks
            if not 0 <= weight < math.inf:
                raise ValueError(f"the weight of task {name!r} is {weight}; it must be at least 0 and finite")
        tasks = tuple(task for task in data.tasks if weights.get(task.name, 0) > 0)
        if not tasks:
            raise ValueError("all weights are zero: there is nothing to minimise")
        self._criteria = tuple(criteria(task) for task in tasks)
        self._robust = robust
        self._targets = tuple(task.targets.T.contiguous() for task in tasks)
        self._weights = tuple(weights[task.name] for task in tasks)
        self._passes = passes_of(network, data, tasks)
        self._decay = WeightDecay(weight_decay, offsets)
        self._curvature = LayerCurvature(network, data, tasks, weight_decay)
        self._last: tuple[Tensor, tuple[Tensor, ...]] | None = None
        self._worst: tuple[Tensor, list[Tensor]] | None = None  # a point, and the worst weights of each task there

    @property
    def constraint_count(self) -> int:
        """There are no constraints."""
        return 0

    def start(self, x: Tensor) -> Maximisers:  # noqa: ARG002
        """There is nothing to maximise over."""
        return Maximisers(None, ())

    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        """The curvature that is known before the first step, as a metric."""
        return self._curvature.at_start(x)

    @torch.no_grad()
    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:  # noqa: ARG002
        """The same with the curvature of the losses at a point."""
        logits, worst = self._at(evaluation)
        spreads, counts = [], []
        for at, criterion in enumerate(self._criteria):
            size = self._targets[at].shape[1]
            of_samples = worst[at].to(logits[at]) if self._robust else logits[at].new_full((size,), 1 / size)
            counts.append(self._weights[at] * of_samples)
            spreads.append(spread_of(criterion.loss, logits[at], self._targets[at], counts[-1]))
        return self._curvature.at(evaluation.x, spreads, counts)

    @torch.no_grad()
    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:  # noqa: ARG002
        """One forward pass over all samples."""
        f = self._decay.value(x)
        found = zip(self._criteria, self._targets, self._weights, self._forward(x), strict=True)
        all_worst = []
        for criterion, targets, weight, logits in found:
            losses = loss_values(criterion.loss, logits, targets, dim=0).to(x.device)
            if self._robust:
                worst = criterion.worst(losses)
                all_worst.append(worst.weights)
                f = f + weight * worst.value
            else:
                f = f + weight * losses.mean(dtype=torch.float64)
        self._worst = (x, all_worst)
        return Evaluation(x, f, f.new_zeros(0), Maximisers(None, ()), f.new_zeros(1))

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """One backward pass over all samples, from where the forward pass of the same point ended."""
        x = evaluation.x
        all_logits, worst = self._at(evaluation)
        parts = zip(self._criteria, self._targets, self._weights, all_logits, strict=True)
        cotangents = []
        for at, (criterion, targets, weight, logits) in enumerate(parts):
            slope = loss_slopes(criterion.loss, logits, targets, dim=0)
            if self._robust:
                cotangents.append(Cotangent(None, weight * worst[at].to(slope) * slope))
            else:
                cotangents.append(Cotangent(None, slope / (targets.shape[1] / weight)))
        gradient = self._passes.backward(cotangents).sum(dim=0).to(x.device)
        return Gradients(self._decay.add_slope(gradient, x), x.new_zeros(0, len(x)))

    def _at(self, evaluation: Evaluation) -> tuple[tuple[Tensor, ...], list[Tensor]]:
        """The logits and the worst weights at an evaluated point: kept from the last pass, or else from another one."""
        x = evaluation.x
        if self._last is None or self._worst is None or self._last[0] is not x or self._worst[0] is not x:
            self.evaluate(x, evaluation.maximisers)
        assert self._last is not None
        assert self._worst is not None
        return self._last[1], self._worst[1]

    def _forward(self, x: Tensor) -> tuple[Tensor, ...]:
        logits = self._passes.forward(x.to(self._passes.device))
        self._last = (x, logits)
        return logits
