"""Cooper with Adam on the exact f and g: the strongest alternative to this project's solver."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, final

import torch
from torch import Tensor

from idbpd.baselines.cooper_run import CooperRun, CooperState, Rates, Terms, start_state, warm_up
from idbpd.baselines.method_entry import Look, MethodEntry, Option
from idbpd.optim.kkt import residuals
from idbpd.optim.method import Iterate, Verdict
from idbpd.optim.oracle import Evaluation, Gradients, Oracle
from idbpd.optim.state_file import register


class CooperAdamState(NamedTuple):
    """Cooper's state, and the exact values and gradients at its x."""

    cooper: CooperState
    evaluation: Evaluation
    gradients: Gradients


@final
@dataclass(frozen=True)
class CooperAdam:
    """Adam on the Lagrangian f + sum_i lambda_i g_i, projected gradient ascent on lambda.

    Cooper sees f and every g_i as differentiable functions: their values are exact maxima, and their gradients are
    those at the maximisers. A step costs one evaluation and one gradient, as a step of Algorithm 1 does.
    """

    primal_rate: float = 1e-2
    dual_rate: float = 1e-1
    state_type: ClassVar[type[CooperAdamState]] = CooperAdamState
    check_every: ClassVar[int] = 1  # an iterate that meets the tolerance may be left again at the next step
    picks_by_residual: ClassVar[bool] = False  # the best feasible point is wanted, as of `IDBPD`
    _live: list[CooperRun] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Reject rates without meaning, and do slow imports now rather than in the first step."""
        require_rates(self.primal_rate, self.dual_rate)
        warm_up()

    def init(self, oracle: Oracle, x: Tensor) -> CooperAdamState:
        """The start, with multipliers of zero."""
        evaluation = oracle.evaluate(x, oracle.start(x))
        groups = (torch.zeros_like(evaluation.g),) if oracle.constraint_count else ()
        return CooperAdamState(start_state(x, groups), evaluation, oracle.differentiate(evaluation))

    def step(self, oracle: Oracle, state: CooperAdamState, tolerance: float) -> CooperAdamState:  # noqa: ARG002
        """One update by Cooper, then the values and gradients where it leads."""
        _, evaluation, gradients = state

        def pullback(factors: Tensor) -> Tensor:
            factors = factors.to(gradients.f.dtype)
            return factors[0] * gradients.f + factors[1:] @ gradients.g

        run = live_run(self._live, state.cooper, Rates(self.primal_rate, self.dual_rate))
        groups = (evaluation.g,) if oracle.constraint_count else ()
        reached = run.step(Terms(evaluation.f, groups, pullback))
        evaluation = oracle.evaluate(reached.x, evaluation.maximisers)
        return CooperAdamState(reached, evaluation, oracle.differentiate(evaluation))

    def iterate(self, state: CooperAdamState) -> Iterate:
        """The iterate with the residuals at Cooper's own multipliers."""
        _, evaluation, gradients = state
        multipliers = state.cooper.multipliers[0] if state.cooper.multipliers else evaluation.g
        return Iterate(evaluation, gradients, multipliers, residuals(evaluation.g, gradients, multipliers))

    def verdict(self, state: CooperAdamState) -> Verdict | None:  # noqa: ARG002
        """Cooper never gives up by itself."""
        return None


def live_run(live: list[CooperRun], state: CooperState, rates: Rates) -> CooperRun:
    """The run that returned ``state``, where it is kept, else a new one from that state.

    Making Cooper's objects anew at every step would cost as much as a step on a small problem.
    """
    if not live or live[0].state is not state:
        live[:] = [CooperRun(state, rates)]
    return live[0]


def require_rates(primal_rate: float, dual_rate: float) -> None:
    """Raise a ValueError for a rate that is not positive."""
    for name, rate in (("primal_rate", primal_rate), ("dual_rate", dual_rate)):
        if not rate > 0:
            raise ValueError(f"{name} must be positive, got {rate}")


for _kind in (CooperState, CooperAdamState):
    register(_kind)

RATES = {"primal_rate": Option(1e-2, above=0), "dual_rate": Option(0.1, above=0)}
# The learning rates that Cooper's authors advise, and their neighbours.
RATE_GRID: dict[str, tuple[float, ...]] = {
    "primal_rate": (1e-3, 3e-3, 1e-2, 3e-2),
    "dual_rate": (1e-3, 1e-2, 1e-1, 1.0),
}
ENTRIES = (
    MethodEntry("cooper_adam", CooperAdam, options=RATES, grid=RATE_GRID, look=Look("Cooper with Adam", "#d55e00")),
)
