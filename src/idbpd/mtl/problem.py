"""Robust multi-task learning with a prioritised task, as the oracle that the solver works on."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.losses import cross_entropy
from idbpd.mtl.worst_case import worst_case
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers


class RobustMultiTask:
    r"""Minimise the worst-case loss of one task while the worst-case losses of others stay under their thresholds.

    f(x) = worst case of the objective task + weight_decay / 2 ||x||^2 and g_i(x) = worst case of constraint task
    i - r_i. Both inner maxima are exact (see `idbpd.mtl.worst_case`). The worst weights are sparse, and samples without
    weight have no part in the gradient, so only samples with weight go through the backward pass.

    Without thresholds it is the unconstrained problem of one task, which is what calibration solves.
    """

    def __init__(
        self,
        network: nn.Module,
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
        self._network = network
        self._data = data
        self._names = (objective, *thresholds)
        self._tasks = tuple(data[name] for name in self._names)
        self._heads = tuple(data.tasks.index(task) for task in self._tasks)
        self._thresholds = torch.tensor(list(thresholds.values()), dtype=torch.float64, device=data.features.device)
        self._regularisation = regularisation
        self._weight_decay = weight_decay
        self._shapes = {name: parameter.shape for name, parameter in network.named_parameters()}

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
        logits = self._forward(x, self._data.features)
        worst = [
            worst_case(cross_entropy(logits[head][task.rows], task.targets), self._regularisation)
            for task, head in zip(self._tasks, self._heads, strict=True)
        ]
        f = worst[0].value + self._weight_decay / 2 * (x.double() ** 2).sum()
        values = [w.value for w in worst[1:]]
        g = torch.stack(values) - self._thresholds if values else f.new_zeros(0)
        maximisers = Maximisers(worst[0].weights, tuple(w.weights for w in worst[1:]))
        return Evaluation(x, f, g, maximisers, f.new_zeros(1 + len(values)))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Danskin: the gradient of each worst case is the gradient of the loss under its worst weights."""
        weights = (evaluation.maximisers.y, *evaluation.maximisers.w)
        rows = []
        for task, head, task_weights in zip(self._tasks, self._heads, weights, strict=True):
            assert task_weights is not None  # every task of this problem has a maximiser
            rows.append(self._weighted_gradient(evaluation.x, task, head, task_weights))
        f = rows[0] + self._weight_decay * evaluation.x
        return Gradients(f, torch.stack(rows[1:]) if rows[1:] else f.new_zeros(0, len(f)))

    def _weighted_gradient(self, x: Tensor, task: Task, head: int, weights: Tensor) -> Tensor:
        support = weights.nonzero(as_tuple=True)[0]
        x = x.detach().requires_grad_(True)
        with torch.enable_grad():
            logits = self._forward(x, self._data.features[task.rows[support]])[head]
            losses = cross_entropy(logits, task.targets[support])
            (gradient,) = torch.autograd.grad((losses * weights[support].to(losses.dtype)).sum(), x)
        return gradient

    def _forward(self, x: Tensor, features: Tensor) -> tuple[Tensor, ...]:
        parameters, begin = {}, 0
        for name, shape in self._shapes.items():
            parameters[name] = x[begin : begin + shape.numel()].view(shape)
            begin += shape.numel()
        logits: tuple[Tensor, ...] = functional_call(self._network, parameters, (features,))
        return logits
