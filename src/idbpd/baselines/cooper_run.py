"""One run of Cooper. No other module imports the library.

Cooper's objects change in place, the states of a method do not. A run therefore returns a copy of its whole state after
every step, and can be made again from such a copy: an interrupted run goes on as if it had not been interrupted.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, final

import cooper
import torch
from torch import Tensor

Pullback = Callable[[Tensor], Tensor]


class CooperState(NamedTuple):
    """The primal variables, the multipliers of each group of constraints, and the memory of Adam."""

    x: Tensor
    multipliers: tuple[Tensor, ...]  # one vector per group, float64
    steps: Tensor  # how many steps Adam has taken
    average: Tensor  # of the gradients
    square_average: Tensor


class Terms(NamedTuple):
    """The terms of a Lagrangian at one point, and the map from factors of these terms to a gradient in x."""

    loss: Tensor  # scalar, float64
    violations: tuple[Tensor, ...]  # one vector per group, float64
    pullback: Pullback  # (1 + all violations,) factors -> gradient of the weighted sum


class Rates(NamedTuple):
    """The learning rates of both sides: Adam for the primal variables, plain ascent for the multipliers."""

    primal: float
    dual: float


def start_state(x: Tensor, multipliers: tuple[Tensor, ...]) -> CooperState:
    """The state before the first step."""
    return CooperState(x, multipliers, torch.zeros(()), torch.zeros_like(x), torch.zeros_like(x))


def warm_up() -> None:
    """Make an optimiser and discard it: the first one of a process imports torch's compiler, which takes seconds."""
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])


@final
class CooperRun:
    """Cooper's alternating updates, multipliers first, on a Lagrangian whose terms are given step by step.

    Cooper's authors advise this order: it costs as much as simultaneous updates and reacts to a violation one step
    earlier.
    """

    def __init__(self, state: CooperState, rates: Rates) -> None:
        """Make Cooper's objects as they were when ``state`` was returned."""
        self.state = state
        self._x = torch.nn.Parameter(state.x.clone())
        self._adam = torch.optim.Adam([self._x], lr=rates.primal)
        self._adam.state[self._x] = {
            "step": state.steps.clone(),
            "exp_avg": state.average.clone(),
            "exp_avg_sq": state.square_average.clone(),
        }
        self._problem = _Lagrangian(state.multipliers)
        self._optimiser: cooper.optim.CooperOptimizer
        if state.multipliers:
            ascent = torch.optim.SGD(self._problem.dual_parameters(), lr=rates.dual, maximize=True)
            self._optimiser = cooper.optim.AlternatingDualPrimalOptimizer(self._problem, self._adam, ascent)
        else:
            self._optimiser = cooper.optim.UnconstrainedOptimizer(self._problem, self._adam)

    def step(self, terms: Terms) -> CooperState:
        """One update of the multipliers and of x, from the values and gradients in ``terms``."""
        known = torch.cat([terms.loss.reshape(1), *terms.violations])
        values: Tensor = _Known.apply(self._x, known, terms.pullback)  # type: ignore[no-untyped-call]
        loss, *violations = torch.split(values, [1, *(len(group) for group in terms.violations)])
        self._optimiser.roll(compute_cmp_state_kwargs={"loss": loss.squeeze(0), "violations": violations})
        memory = self._adam.state[self._x]
        self.state = CooperState(
            self._x.detach().clone(),
            tuple(weight.detach().clone() for weight in self._problem.weights),
            memory["step"].clone(),
            memory["exp_avg"].clone(),
            memory["exp_avg_sq"].clone(),
        )
        return self.state


class _Lagrangian(cooper.ConstrainedMinimizationProblem):
    """A problem whose values are given at every step."""

    def __init__(self, multipliers: tuple[Tensor, ...]) -> None:
        super().__init__()
        self._groups = []
        self.weights: list[Tensor] = []  # the multipliers, which Cooper updates in place
        for index, values in enumerate(multipliers):
            # Without the dtype they would be rounded to float32.
            multiplier = cooper.multipliers.DenseMultiplier(init=values.clone(), dtype=values.dtype)
            constraint = cooper.Constraint(
                cooper.ConstraintType.INEQUALITY,
                formulation_type=cooper.formulations.Lagrangian,
                multiplier=multiplier,
            )
            self.weights.append(multiplier.weight)
            setattr(self, f"group_{index}", constraint)  # which registers it
            self._groups.append(constraint)

    def compute_cmp_state(self, loss: Tensor, violations: list[Tensor]) -> cooper.CMPState:
        """The values in Cooper's form: one vector of violations for each group of constraints."""
        states = {
            group: cooper.ConstraintState(violation=violation)
            for group, violation in zip(self._groups, violations, strict=True)
        }
        return cooper.CMPState(loss=loss, observed_constraints=states)


class _Known(torch.autograd.Function):
    """Known values as a function of x, with the gradient that the oracle gives (Danskin)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, pullback: Pullback) -> Tensor:  # noqa: ARG004
        """The values."""
        ctx.pullback = pullback
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *factors: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of the sum of the values, weighted with ``factors``."""
        return ctx.pullback(factors[0]), None, None
