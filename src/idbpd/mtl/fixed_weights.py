"""The usual way to train several tasks at once, as a comparison: minimise a weighted sum of their mean losses."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria
from idbpd.mtl.data import MultiTaskData
from idbpd.mtl.passes import Cotangent
from idbpd.mtl.problem import passes_of
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers


class FixedWeights:
    r"""Minimise sum_t weight_t * mean loss of task t + weight_decay / 2 ||x||^2: smooth, and without a limit.

    An oracle for the same solver, without a maximum inside. Weights of one are the usual sum with equal weights.
    """

    def __init__(
        self,
        network: nn.Module,
        data: MultiTaskData,
        criteria: Criteria,
        weights: Mapping[str, float],
        weight_decay: float,
    ) -> None:
        """``network`` gives one tensor of logits per task of the data; of ``criteria`` only the losses count.

        ``weights`` are by task. A task without one, or with zero, has no part in any pass.
        """
        for name, weight in weights.items():
            data.position(name)  # a KeyError names the tasks
            if not 0 <= weight < math.inf:
                raise ValueError(f"the weight of task {name!r} is {weight}; it must be at least 0 and finite")
        tasks = tuple(task for task in data.tasks if weights.get(task.name, 0) > 0)
        if not tasks:
            raise ValueError("all weights are zero: there is nothing to minimise")
        self._losses = tuple(criteria(task).loss for task in tasks)
        self._targets = tuple(task.targets.T.contiguous() for task in tasks)
        self._weights = tuple(weights[task.name] for task in tasks)
        self._passes = passes_of(network, data, tasks)
        self._weight_decay = weight_decay
        self._last: tuple[Tensor, tuple[Tensor, ...]] | None = None

    @property
    def constraint_count(self) -> int:
        """There are no constraints."""
        return 0

    def start(self, x: Tensor) -> Maximisers:  # noqa: ARG002
        """There is nothing to maximise over."""
        return Maximisers(None, ())

    @torch.no_grad()
    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:  # noqa: ARG002
        """One forward pass over all samples."""
        f = self._weight_decay / 2 * torch.linalg.vector_norm(x, dtype=torch.float64) ** 2
        found = zip(self._losses, self._targets, self._weights, self._forward(x), strict=True)
        for loss, targets, weight, logits in found:
            f = f + weight * loss.values(logits, targets, dim=0).to(x.device).mean(dtype=torch.float64)
        return Evaluation(x, f, f.new_zeros(0), Maximisers(None, ()), f.new_zeros(1))

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """One backward pass over all samples, from where the forward pass of the same point ended."""
        x = evaluation.x
        all_logits = self._last[1] if self._last is not None and self._last[0] is x else self._forward(x)
        found = zip(self._losses, self._targets, self._weights, all_logits, strict=True)
        cotangents = [
            Cotangent(None, loss.slope(logits, targets, dim=0) / (targets.shape[1] / weight))
            for loss, targets, weight, logits in found
        ]
        gradient = self._passes.backward(cotangents).sum(dim=0).to(x.device)
        return Gradients(gradient.add_(x, alpha=self._weight_decay), x.new_zeros(0, len(x)))

    def _forward(self, x: Tensor) -> tuple[Tensor, ...]:
        logits = self._passes.forward(x.to(self._passes.device))
        self._last = (x, logits)
        return logits
