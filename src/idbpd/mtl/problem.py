"""Robust multi-task learning with a prioritised task, as the oracle that the solver works on."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import functional_call

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.losses import cross_entropy
from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.worst_case import worst_case
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers

# Rows of the features that a gradient gathers at a time: bounds the memory it needs beside the data.
ROWS_AT_A_TIME = 4096


class _Forward(NamedTuple):
    """The last forward pass: a gradient at the same point needs no second one."""

    x: Tensor
    preactivations: Tensor  # (samples, hidden)


class RobustMultiTask:
    r"""Minimise the worst-case loss of one task while the worst-case losses of others stay under their thresholds.

    f(x) = worst case of the objective task + weight_decay / 2 ||x||^2 and g_i(x) = worst case of constraint task
    i - r_i. Both inner maxima are exact (see `idbpd.mtl.worst_case`). The worst weights are sparse, and samples without
    weight have no part in the gradient: an evaluation is one forward pass over all samples, and a gradient is a
    backward pass over the samples with weight that begins where the forward pass of the same point ended.

    Without thresholds it is the unconstrained problem of one task, which is what calibration solves.
    """

    def __init__(
        self,
        network: SharedNetwork,
        data: MultiTaskData,
        *,
        objective: str,
        thresholds: Mapping[str, float],
        regularisation: float,
        weight_decay: float = 0.0,
    ) -> None:
        """Name the objective task and each constraint task's threshold; ``regularisation`` is the paper's lambda."""
        if objective in thresholds:
            raise ValueError(f"task {objective!r} cannot be the objective and a constraint at once")
        self._heads_module = network.heads
        self._data = data
        self._tasks = tuple(data[name] for name in (objective, *thresholds))
        self._heads = tuple(data.tasks.index(task) for task in self._tasks)
        self._thresholds = torch.tensor(list(thresholds.values()), dtype=torch.float64, device=data.features.device)
        self._regularisation = regularisation
        self._weight_decay = weight_decay
        self._shapes = {name: parameter.shape for name, parameter in network.named_parameters()}
        self._last: _Forward | None = None

    @property
    def constraint_count(self) -> int:
        """The number of constraint tasks."""
        return len(self._tasks) - 1

    def start(self, x: Tensor) -> Maximisers:
        """Uniform weights: the centre of each simplex."""
        uniform = [torch.full((t.size,), 1 / t.size, dtype=torch.float64, device=x.device) for t in self._tasks]
        return Maximisers(uniform[0], tuple(uniform[1:]))

    @torch.no_grad()
    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:  # noqa: ARG002
        """One forward pass over all samples; ``warm`` and ``steps`` are not needed where the maximisers are exact."""
        trunk, heads = self._parameters(x)
        preactivations = torch.addmm(trunk["bias"], self._data.features, trunk["weight"].T)
        self._last = _Forward(x, preactivations)
        logits = functional_call(self._heads_module, heads, (preactivations,))
        worst = [
            worst_case(cross_entropy(logits[head][task.rows], task.targets), self._regularisation)
            for task, head in zip(self._tasks, self._heads, strict=True)
        ]
        f = worst[0].value + self._weight_decay / 2 * torch.linalg.vector_norm(x, dtype=torch.float64) ** 2
        values = [w.value for w in worst[1:]]
        g = torch.stack(values) - self._thresholds if values else f.new_zeros(0)
        maximisers = Maximisers(worst[0].weights, tuple(w.weights for w in worst[1:]))
        return Evaluation(x, f, g, maximisers, f.new_zeros(1 + len(values)))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Danskin: the gradient of each worst case is the gradient of the loss under its worst weights."""
        forward = self._forward_at(evaluation)
        weights = (evaluation.maximisers.y, *evaluation.maximisers.w)
        rows = []
        for task, head, task_weights in zip(self._tasks, self._heads, weights, strict=True):
            assert task_weights is not None  # every task of this problem has a maximiser
            rows.append(self._weighted_gradient(forward, task, head, task_weights))
        f = rows[0] + self._weight_decay * evaluation.x
        return Gradients(f, torch.stack(rows[1:]) if rows[1:] else f.new_zeros(0, len(f)))

    @torch.no_grad()
    def cut_values(self, evaluation: Evaluation, constraint: int, points: Tensor) -> Tensor:
        """The constraint under given weights, a row each: one product with the losses of the last forward pass."""
        task, head, n = self._tasks[1 + constraint], self._heads[1 + constraint], points.shape[1]
        forward = self._forward_at(evaluation)
        _, heads = self._parameters(forward.x)
        logits = functional_call(self._heads_module, heads, (forward.preactivations[task.rows],))[head]
        losses = cross_entropy(logits, task.targets).double()
        price = self._regularisation * n / 2 * ((points - 1 / n) ** 2).sum(dim=1)
        return points @ losses - price - self._thresholds[constraint]

    def cut_gradient(self, evaluation: Evaluation, constraint: int, points: Tensor, factors: Tensor) -> Tensor:
        """A constraint is linear in its weights, so that the sum is one backward pass under the summed weights."""
        forward = self._forward_at(evaluation)
        weights = factors @ points
        return self._weighted_gradient(forward, self._tasks[1 + constraint], self._heads[1 + constraint], weights)

    def _forward_at(self, evaluation: Evaluation) -> _Forward:
        """The forward pass at an evaluated point: the last one, or else once more."""
        if self._last is None or self._last.x is not evaluation.x:
            self.evaluate(evaluation.x, evaluation.maximisers)
        assert self._last is not None  # evaluate has just set it
        return self._last

    def _weighted_gradient(self, forward: _Forward, task: Task, head: int, weights: Tensor) -> Tensor:
        """The gradient of sum_i weights_i loss_i: by autograd down to the first layer, by one product through it."""
        support = weights.nonzero(as_tuple=True)[0]
        samples = task.rows[support]
        _, heads = self._parameters(forward.x)
        leaves = {name: tensor.detach().requires_grad_(True) for name, tensor in heads.items()}
        preactivations = forward.preactivations[samples].requires_grad_(True)
        with torch.enable_grad():
            logits = functional_call(self._heads_module, leaves, (preactivations,))[head]
            losses = cross_entropy(logits, task.targets[support])
            upstream, *of_heads = torch.autograd.grad(
                (losses * weights[support].to(losses.dtype)).sum(),
                [preactivations, *leaves.values()],
                materialize_grads=True,  # the other tasks' heads have no part in this loss
            )
        of_weight = torch.zeros(self._shapes["trunk.weight"], dtype=upstream.dtype, device=upstream.device)
        for begin in range(0, len(samples), ROWS_AT_A_TIME):
            part = slice(begin, begin + ROWS_AT_A_TIME)
            of_weight.addmm_(upstream[part].T, self._data.features[samples[part]])
        return torch.cat([of_weight.flatten(), upstream.sum(dim=0), *(gradient.flatten() for gradient in of_heads)])

    def _parameters(self, x: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The flat vector as the named parameters of the first layer and of the heads, as views."""
        parts: dict[str, dict[str, Tensor]] = {"trunk": {}, "heads": {}}
        begin = 0
        for name, shape in self._shapes.items():
            owner, _, key = name.partition(".")
            parts[owner][key] = x[begin : begin + shape.numel()].view(shape)
            begin += shape.numel()
        return parts["trunk"], parts["heads"]
