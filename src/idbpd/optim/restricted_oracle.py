"""A problem in some of its variables, the others held where they are."""

import torch
from torch import Tensor

from idbpd.optim.initial_metric import InitialMetric, RestrictedMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers, Oracle, PreconditionedOracle


class RestrictedOracle:
    """The problem of another oracle over the variables at ``places`` alone."""

    def __init__(self, oracle: Oracle, x: Tensor, places: Tensor, *, preconditioner: bool = False) -> None:
        """``x`` is a point of the whole problem: it says where the other variables are.

        ``preconditioner`` hands on what the whole problem knows about its curvature.
        """
        self._oracle = oracle
        self._informed = oracle if preconditioner and isinstance(oracle, PreconditionedOracle) else None
        self._x = x.detach().clone()
        self._places = places.to(x.device)
        self._last: tuple[Tensor, Evaluation] | None = None

    @property
    def constraint_count(self) -> int:
        """The number of constraints of the whole problem."""
        return self._oracle.constraint_count

    def whole(self, x: Tensor) -> Tensor:
        """The point of the whole problem, (d,), with these values at the places."""
        return self._x.index_copy(0, self._places, x.detach())

    def start(self, x: Tensor) -> Maximisers:
        """Where the whole problem starts to maximise."""
        return self._oracle.start(self.whole(x))

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        """The values of the whole problem."""
        found = self._oracle.evaluate(self.whole(x), warm, steps)
        self._last = (x, found)
        return found._replace(x=x)

    @torch.no_grad()
    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """The gradients of the whole problem at the places."""
        gradients = self._oracle.differentiate(self._whole_at(evaluation))
        return Gradients(gradients.f[self._places], gradients.g[:, self._places])

    def initial_metric(self, x: Tensor) -> InitialMetric | None:
        """That of the whole problem, between the variables at the places."""
        return None if self._informed is None else self._part(self._informed.initial_metric(self.whole(x)))

    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> InitialMetric | None:
        """That of the whole problem, between the variables at the places."""
        if self._informed is None:
            return None
        return self._part(self._informed.metric_at(self._whole_at(evaluation), multipliers))

    def _part(self, metric: InitialMetric | None) -> InitialMetric | None:
        return None if metric is None else RestrictedMetric(metric, self._places, len(self._x))

    def _whole_at(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation of the whole problem is kept: its oracle may not have to pass the data again."""
        if self._last is not None and self._last[0] is evaluation.x:
            return self._last[1]
        return evaluation._replace(x=self.whole(evaluation.x))
