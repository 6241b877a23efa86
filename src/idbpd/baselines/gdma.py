"""GDMA: gradient descent with multi-step ascent on a fixed weighting of objective and constraints."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, final

import torch
from torch import Tensor

from idbpd.baselines.idbpd_methods import GAMMAS
from idbpd.baselines.method_entry import Look, MethodEntry, Option
from idbpd.optim.kkt import residuals
from idbpd.optim.method import Iterate, Verdict
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Oracle
from idbpd.optim.paper.schedules import LogarithmicSteps
from idbpd.optim.state_file import register

_OBJECTIVE_STEPS, _CONSTRAINT_STEPS = LogarithmicSteps(2), LogarithmicSteps(10)


class GDMAState(NamedTuple):
    """x_k with y_k, w_k (in the evaluation) and their gradients."""

    k: int
    evaluation: Evaluation
    gradients: Gradients


@final
@dataclass(frozen=True)
class GDMA:
    """Gradient descent on max_y phi + rho sum_i max_w psi_i: the constraints as a weighted part of the objective.

    x_{k+1} = x_k - gamma (grad phi + rho sum_i grad psi_i), then as many steps of projected gradient ascent on y and w
    as Algorithm 1 takes in the experiments: N_k = 2 ceil(log(k + 2)) and M_k = 10 ceil(log(k + 2)). Its iterates are
    judged as those of the constrained problem with lambda = rho; `both_residuals` adds what the best multiplier says.
    """

    rho: float
    gamma: float = 1e-3
    check_every: int = 64
    state_type: ClassVar[type[GDMAState]] = GDMAState
    # The best feasible point is wanted; where no point is feasible, the least infeasible one.
    picks_by_residual: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Reject settings without meaning."""
        for name, value in (("rho", self.rho), ("gamma", self.gamma)):
            if not value > 0:
                raise ValueError(f"{name} must be positive, got {value}")

    def init(self, oracle: Oracle, x: Tensor) -> GDMAState:
        """x_0 with y_0 and w_0 by the ascent steps of k = 0 from the centres of their sets."""
        return self._state(0, oracle, oracle.evaluate(x, oracle.start(x), _ascent(0)))

    def step(self, oracle: Oracle, state: GDMAState, tolerance: float) -> GDMAState:  # noqa: ARG002
        """One step of descent, then the ascent."""
        k, evaluation, gradients = state
        x = evaluation.x - self.gamma * (gradients.f + self.rho * gradients.g.sum(dim=0))
        return self._state(k + 1, oracle, oracle.evaluate(x, evaluation.maximisers, _ascent(k)))

    def iterate(self, state: GDMAState) -> Iterate:
        """The iterate with the residuals at lambda = rho."""
        _, evaluation, gradients = state
        multipliers = torch.full_like(evaluation.g, self.rho)
        return Iterate(evaluation, gradients, multipliers, residuals(evaluation.g, gradients, multipliers))

    def verdict(self, state: GDMAState) -> Verdict | None:  # noqa: ARG002
        """GDMA never gives up by itself."""
        return None

    def _state(self, k: int, oracle: Oracle, evaluation: Evaluation) -> GDMAState:
        return GDMAState(k, evaluation, oracle.differentiate(evaluation))


def _ascent(k: int) -> AscentSteps:
    return AscentSteps(_OBJECTIVE_STEPS(k), _CONSTRAINT_STEPS(k))


register(GDMAState)

_LOOKS = {
    1: Look("GDMA, rho = 1", "#cc79a7"),
    2: Look("GDMA, rho = 2", "#e69f00", "--"),
    5: Look("GDMA, rho = 5", "#8c510a", "-."),
    10: Look("GDMA, rho = 10", "#7f7f7f", (0, (1, 1))),
}
ENTRIES = tuple(
    MethodEntry(
        f"gdma_rho{rho}",
        partial(GDMA, rho),
        options={"gamma": Option(1e-3, above=0)},
        grid={"gamma": GAMMAS},  # the paper does not say how it was tuned: it gets the step sizes of Algorithm 1
        look=look,
        figures=("weights",),
    )
    for rho, look in _LOOKS.items()
)
