"""The usual way to train several tasks at once, as a comparison: minimise the sum of their mean losses."""

import torch
from torch import Tensor, nn

from idbpd.mtl.criterion import Criteria
from idbpd.mtl.data import MultiTaskData
from idbpd.mtl.passes import Cotangent
from idbpd.mtl.problem import passes_of
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers


class EqualWeights:
    """Minimise the sum of the mean losses of all tasks and weight_decay / 2 ||x||^2: smooth, and without a limit.

    An oracle for the same solver, without a maximum inside.
    """

    def __init__(self, network: nn.Module, data: MultiTaskData, criteria: Criteria, weight_decay: float) -> None:
        """``network`` gives one tensor of logits per task of the data; of ``criteria`` only the losses count."""
        self._losses = tuple(criteria(task).loss for task in data.tasks)
        self._targets = tuple(task.targets.T.contiguous() for task in data.tasks)
        self._passes = passes_of(network, data, data.tasks)
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
        for loss, targets, logits in zip(self._losses, self._targets, self._forward(x), strict=True):
            f = f + loss.values(logits, targets, dim=0).to(x.device).mean(dtype=torch.float64)
        return Evaluation(x, f, f.new_zeros(0), Maximisers(None, ()), f.new_zeros(1))

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """One backward pass over all samples, from where the forward pass of the same point ended."""
        x = evaluation.x
        all_logits = self._last[1] if self._last is not None and self._last[0] is x else self._forward(x)
        cotangents = [
            Cotangent(None, loss.slope(logits, targets, dim=0) / targets.shape[1])
            for loss, targets, logits in zip(self._losses, self._targets, all_logits, strict=True)
        ]
        gradient = self._passes.backward(cotangents).sum(dim=0).to(x.device)
        return Gradients(gradient.add_(x, alpha=self._weight_decay), x.new_zeros(0, len(x)))

    def _forward(self, x: Tensor) -> tuple[Tensor, ...]:
        logits = self._passes.forward(x.to(self._passes.device))
        self._last = (x, logits)
        return logits
