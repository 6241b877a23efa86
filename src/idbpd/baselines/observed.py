"""Observe the iterates of a run with their gradients, which its history does not keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from torch import Tensor

from idbpd.optim.kkt import Residuals, best_multipliers, residuals
from idbpd.optim.method import Iterate, Method, Verdict
from idbpd.optim.oracle import Oracle


class BothResiduals(NamedTuple):
    """The residuals of one iterate with the multipliers of its method, and with those that certify it best.

    By the first, a method without multipliers of its own, such as GDMA, looks worse than its iterates are. The second
    judges all methods by the same rule.
    """

    own: Residuals
    best: Residuals
    best_multipliers: Tensor


def both_residuals(iterate: Iterate) -> BothResiduals:
    """Judge an iterate by both; no evaluation is needed, and no wait for the device with at most one constraint."""
    g, gradients = iterate.evaluation.g, iterate.gradients
    best = best_multipliers(g, gradients)
    return BothResiduals(iterate.residuals, residuals(g, gradients, best), best)


@final
@dataclass(frozen=True)
class Observed:
    """A method that passes every iterate to ``observer`` and is otherwise ``method`` itself.

    The loop's callback sees numbers only. The observer sees gradients too:

    >>> import torch
    >>> from idbpd.optim import IDBPD, Constraint, Problem, solve
    >>> problem = Problem(lambda x: x @ x, constraints=[Constraint(lambda x: 1 - x.sum())])
    >>> seen = []
    >>> method = Observed(IDBPD(), lambda iterate: seen.append(both_residuals(iterate)))
    >>> solution = solve(problem, torch.zeros(2, dtype=torch.float64), method)
    >>> len(seen) == solution.steps + 1
    True
    """

    method: Method[Any]
    observer: Callable[[Iterate], object]

    @property
    def state_type(self) -> type[Any]:
        """That of the method."""
        return self.method.state_type

    @property
    def check_every(self) -> int:
        """That of the method."""
        return self.method.check_every

    @property
    def picks_by_residual(self) -> bool:
        """That of the method."""
        return self.method.picks_by_residual

    @property
    def takes_equalities_and_bounds(self) -> bool:
        """That of the method."""
        return getattr(self.method, "takes_equalities_and_bounds", False)

    def init(self, oracle: Oracle, x: Tensor) -> Any:
        """The first state, whose iterate is shown."""
        return self._shown(self.method.init(oracle, x))

    def step(self, oracle: Oracle, state: Any, tolerance: float) -> Any:
        """The next state, whose iterate is shown."""
        return self._shown(self.method.step(oracle, state, tolerance))

    def iterate(self, state: Any) -> Iterate:
        """That of the method."""
        return self.method.iterate(state)

    def verdict(self, state: Any) -> Verdict | None:
        """That of the method."""
        return self.method.verdict(state)

    def _shown(self, state: Any) -> Any:
        self.observer(self.method.iterate(state))
        return state
