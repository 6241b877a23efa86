"""The oracle of a problem whose worst cases are computed elsewhere: the solver does not know."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from idbpd.mtl.weight_decay import WeightDecay
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers


class Terms(Protocol):
    """The worst cases of some tasks, and their gradients."""

    def values(self, x: Tensor) -> Tensor:
        """The worst case of each task at a point: (tasks,), float64."""
        ...

    def gradients(self, x: Tensor) -> Tensor:
        """The gradient of each worst case: (tasks, len(x)). It is cheaper at the point of the latest values."""
        ...


class ShardedProblem:
    """Minimise a weighted sum of worst cases and weight decay while some of the worst cases stay under thresholds.

    It is the problem of `RobustMultiTask` or of `FixedWeights`, by its numbers alone. The worst weights of samples
    stay where the samples are: a solver neither gets nor gives them.
    """

    def __init__(self, terms: Terms, shares: Sequence[float], thresholds: Sequence[float], decay: WeightDecay) -> None:
        """``shares`` are the weights of all tasks in the objective; the last ``len(thresholds)`` tasks are limited."""
        self._terms = terms
        self._shares = tuple(shares)
        self._thresholds = tuple(thresholds)
        self._decay = decay

    @property
    def constraint_count(self) -> int:
        """The number of limited tasks."""
        return len(self._thresholds)

    def start(self, x: Tensor) -> Maximisers:  # noqa: ARG002
        """Nothing: maximisers are found where the samples are, and need no start."""
        return Maximisers(None, (None,) * self.constraint_count)

    @torch.no_grad()
    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:  # noqa: ARG002
        """One forward pass over all samples, each rank over its own."""
        values = self._terms.values(x).to(x.device)
        f = self._decay.value(x)
        for share, value in zip(self._shares, values, strict=True):
            if share > 0:
                f = f + share * value
        limited = values[len(values) - self.constraint_count :]
        g = limited - torch.tensor(self._thresholds, dtype=limited.dtype, device=limited.device)
        # The maxima are exact, but the losses they are taken over are rounded.
        error = torch.finfo(x.dtype).eps * torch.cat([f.abs().view(1), limited.abs()])
        return Evaluation(x, f, g, self.start(x), error)

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """One backward pass over the samples with weight, each rank over its own."""
        rows = self._terms.gradients(evaluation.x)
        slope = self._decay.add_slope(torch.zeros_like(evaluation.x), evaluation.x)
        for share, row in zip(self._shares, rows, strict=True):
            if share > 0:
                slope.add_(row, alpha=share)
        return Gradients(slope, rows[len(rows) - self.constraint_count :])
