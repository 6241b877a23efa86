"""A problem in some of its variables, the others held where they are."""

import torch
from torch import Tensor

from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers, Oracle


class RestrictedOracle:
    """The problem of another oracle over the variables at ``places`` alone."""

    def __init__(self, oracle: Oracle, x: Tensor, places: Tensor) -> None:
        """``x`` is a point of the whole problem: it says where the other variables are."""
        self._oracle = oracle
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
        x = evaluation.x
        last = self._last
        # The evaluation of the whole problem is kept: its oracle may not have to pass the data again.
        whole = last[1] if last is not None and last[0] is x else evaluation._replace(x=self.whole(x))
        gradients = self._oracle.differentiate(whole)
        return Gradients(gradients.f[self._places], gradients.g[:, self._places])
