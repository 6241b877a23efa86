"""The best answer that does not look at the features. A task that is no better has learnt nothing."""

import math
from typing import Any

import torch
from torch import Tensor

from idbpd.mtl.criterion import Criteria, Criterion
from idbpd.mtl.data import Task
from idbpd.mtl.pieces import loss_slopes, loss_values

STEPS = 100


class _LBFGS(torch.optim.LBFGS):
    """Torch's, without the decorator that imports torch's compiler, for a second, to keep it away from this method."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the parameters."""
        torch.optim.Optimizer.add_param_group.__wrapped__(self, param_group)  # type: ignore[attr-defined]


def constant_logits(targets: Tensor, criterion: Criterion) -> Tensor:
    """The constant outputs, (outputs,), with the least worst-case loss on these targets, in float64.

    In the worst case this is neither a uniform guess nor the frequencies of the labels, but between them. The problem
    is convex in the outputs and has as many unknowns as there are outputs.
    """
    targets = targets.double().cpu()
    loss = criterion.loss
    by_mean = loss.guess(targets)
    constant = by_mean.clone().requires_grad_(True)
    optimiser = _LBFGS([constant], max_iter=STEPS, line_search_fn="strong_wolfe")

    def closure() -> float:
        logits = constant.detach().expand_as(targets)
        worst = criterion.worst(loss_values(loss, logits, targets))
        # Danskin: the gradient is that of the loss under the worst weights.
        constant.grad = worst.weights @ loss_slopes(loss, logits, targets)
        return worst.value.item()

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    candidates = [constant.detach(), by_mean, torch.zeros_like(by_mean)]
    return min(candidates, key=lambda logits: _worst_case(logits, targets, criterion))


def guess_loss(task: Task, criteria: Criteria, judged_on: Task | None = None) -> float:
    """The worst-case loss of the best constant answer to a task, on its own samples or on those of another part."""
    judged = task if judged_on is None else judged_on
    constant = constant_logits(task.targets, criteria(task))
    return _worst_case(constant, judged.targets.double().cpu(), criteria(judged))


def _worst_case(logits: Tensor, targets: Tensor, criterion: Criterion) -> float:
    value = criterion.worst(loss_values(criterion.loss, logits.expand_as(targets), targets)).value.item()
    return math.inf if math.isnan(value) else value
