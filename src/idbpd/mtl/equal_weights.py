"""The usual way to train several tasks at once, to compare with: the sum of their mean losses."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from idbpd.mtl.data import MultiTaskData
from idbpd.mtl.losses import cross_entropy
from idbpd.optim.problem import Problem


def equal_weights_problem(network: nn.Module, data: MultiTaskData, weight_decay: float) -> Problem:
    """Minimise the sum of the mean losses of all tasks and weight_decay / 2 ||x||^2: smooth, and without a limit.

    A point is the dictionary of the network's named weights.
    """

    def objective(weights: Mapping[str, Tensor]) -> Tensor:
        all_logits = functional_call(network, dict(weights), (data.features,))
        means = [
            # In float64: a search compares differences that float32 does not show.
            cross_entropy(logits[task.rows], task.targets).mean(dtype=torch.float64)
            for task, logits in zip(data.tasks, all_logits, strict=True)
        ]
        size = sum(weight.square().sum(dtype=torch.float64) for weight in weights.values())
        return torch.stack(means).sum() + weight_decay / 2 * size

    return Problem(objective)
