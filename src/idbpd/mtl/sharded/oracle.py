"""The oracle of a problem whose worst cases are computed elsewhere; to the solver it is like any other."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from idbpd.mtl.layer_curvature import LEAST_FACTOR, first_metric, later_metric
from idbpd.mtl.layer_moments import Moments, layers_of
from idbpd.mtl.weight_decay import WeightDecay
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers


class Terms(Protocol):
    """The worst cases of some tasks, and their gradients."""

    def values(self, x: Tensor) -> Tensor:
        """The worst case of each task at a point: (tasks,), float64."""
        ...

    def gradients(self, x: Tensor) -> Tensor:
        """The gradient of each worst case: (tasks, len(x)). It is cheaper at the point of the latest values."""
        ...

    def moments_of_features(self, x: Tensor) -> Moments:
        """The moments of the layers that take features."""
        ...

    def moments(self, x: Tensor, factors: Sequence[float]) -> Moments:
        """The moments of all layers, with a factor for each task; cheaper at the point of the latest values."""
        ...


class ShardedProblem:
    """Minimise a weighted sum of worst cases and weight decay while some of the worst cases stay under thresholds.

    It is the problem of `RobustMultiTask` or of `FixedWeights`, by its numbers alone. The worst weights of samples
    stay where the samples are: a solver neither gets nor gives them.
    """

    def __init__(
        self,
        terms: Terms,
        shares: Sequence[float],
        thresholds: Sequence[float],
        decay: WeightDecay,
        network: nn.Module,
        *,
        has_steady_weights: bool = True,
    ) -> None:
        """``shares`` are the weights of all tasks in the objective; the last ``len(thresholds)`` tasks are limited.

        Without steady weights (`idbpd.mtl.problem.has_steady_weights`) the metric of the start stays.
        """
        self._has_steady_weights = has_steady_weights
        self._terms = terms
        self._layers = layers_of(network)
        self._of_features: Moments | None = None
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

    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        """The curvature that is known before the first step, as a metric."""
        return first_metric(self._layers, self._known(x).right, x)

    @torch.no_grad()
    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:
        """The same with the curvature of the losses at a point: each task counts by its weight in the Lagrangian."""
        known = self._known(evaluation.x)
        if not known.right or not self._has_steady_weights:
            return None
        free = len(self._shares) - self.constraint_count
        factors = [*self._shares[:free]]
        for share, multiplier in zip(self._shares[free:], multipliers.tolist(), strict=True):
            factors.append(max(multiplier + share, LEAST_FACTOR))
        found = self._terms.moments(evaluation.x, factors)
        return later_metric(self._layers, known.right, found, self._decay.number, evaluation.x)

    def _known(self, x: Tensor) -> Moments:
        if self._of_features is None:
            self._of_features = self._terms.moments_of_features(x)
        return self._of_features

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
