"""Adaptive discretization: constraints for finitely many w, a list that grows; each finite problem is solved by Cooper.

The scheme is that of Blankenship and Falk (1976): solve the problem with finitely many w, find the most violated w
where that leads, add it, repeat.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, final

import torch
from torch import Tensor

from idbpd.baselines.cooper_adam import RATE_GRID, RATES, live_run, require_rates
from idbpd.baselines.cooper_run import CooperRun, CooperState, Rates, Terms, start_state, warm_up
from idbpd.baselines.method_entry import Look, MethodEntry, Option
from idbpd.optim.kkt import residuals
from idbpd.optim.method import Iterate, Verdict
from idbpd.optim.oracle import CutOracle, Evaluation, Gradients, Oracle
from idbpd.optim.state_file import register


class DiscretizationState(NamedTuple):
    """The cuts so far, Cooper's state, and the exact values and gradients at its x."""

    k: int
    cuts: tuple[Tensor, ...]  # one tensor per constraint, a row per cut
    cooper: CooperState
    evaluation: Evaluation
    gradients: Gradients


@final
@dataclass(frozen=True)
class Discretization:
    """min f(x) subject to psi_i(x, w) <= 0 for the w in a finite list, which grows by the most violated w.

    A step is one step of Cooper (Adam, and ascent on one multiplier per cut) on the finite problem as it stands; after
    every ``inner_steps`` of them each constraint that is violated by more than ``accuracy`` gets its worst w as a
    further cut, with a multiplier of zero. Adam's memory and the other multipliers stay. The first cut is the worst w
    of the start. No cut is ever dropped.

    Per step it asks for one evaluation, whose forward pass the values of all cuts share, and two gradients: one of
    the exact f and g, by which every method is judged, and one of the cuts weighted with their multipliers (one
    backward pass, however many they are). The multiplier of a constraint, as it is judged, is the sum over its cuts.
    """

    primal_rate: float = 1e-2
    dual_rate: float = 1e-1
    inner_steps: int = 50
    accuracy: float = 1e-6
    state_type: ClassVar[type[DiscretizationState]] = DiscretizationState
    check_every: ClassVar[int] = 1  # an iterate that meets the tolerance may be left again at the next step
    picks_by_residual: ClassVar[bool] = False  # the best feasible point is wanted, as of `IDBPD`
    _live: list[CooperRun] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Reject settings without meaning, and do slow imports now rather than in the first step."""
        require_rates(self.primal_rate, self.dual_rate)
        if self.inner_steps < 1:
            raise ValueError(f"inner_steps must be at least 1, got {self.inner_steps}")
        if not self.accuracy >= 0:
            raise ValueError(f"accuracy must not be negative, got {self.accuracy}")
        warm_up()

    def init(self, oracle: Oracle, x: Tensor) -> DiscretizationState:
        """The start, with its worst cases as the first cuts."""
        if oracle.constraint_count:
            _with_cuts(oracle)  # asked here, so that nothing has been computed when it cannot
        evaluation = oracle.evaluate(x, oracle.start(x))
        cuts = tuple(_row(w, x) for w in evaluation.maximisers.w)
        zeros = tuple(evaluation.g.new_zeros(1) for _ in cuts)
        return DiscretizationState(0, cuts, start_state(x, zeros), evaluation, oracle.differentiate(evaluation))

    def step(self, oracle: Oracle, state: DiscretizationState, tolerance: float) -> DiscretizationState:  # noqa: ARG002
        """One step of Cooper on the finite problem; after every ``inner_steps`` steps, new cuts."""
        k, cuts, _, evaluation, gradients = state
        rates = Rates(self.primal_rate, self.dual_rate)
        reached = live_run(self._live, state.cooper, rates).step(_terms(oracle, cuts, evaluation, gradients))
        evaluation = oracle.evaluate(reached.x, evaluation.maximisers)
        gradients = oracle.differentiate(evaluation)
        if (k + 1) % self.inner_steps == 0:
            cuts, reached = self._cut(cuts, reached, evaluation)
        return DiscretizationState(k + 1, cuts, reached, evaluation, gradients)

    def iterate(self, state: DiscretizationState) -> Iterate:
        """The iterate with the residuals of the exact problem; a constraint's multiplier is the sum over its cuts."""
        g, gradients = state.evaluation.g, state.gradients
        sums = [group.sum() for group in state.cooper.multipliers]
        multipliers = torch.stack(sums) if sums else g
        return Iterate(state.evaluation, gradients, multipliers, residuals(g, gradients, multipliers))

    def verdict(self, state: DiscretizationState) -> Verdict | None:  # noqa: ARG002
        """It never gives up by itself."""
        return None

    def _cut(
        self, cuts: tuple[Tensor, ...], reached: CooperState, evaluation: Evaluation
    ) -> tuple[tuple[Tensor, ...], CooperState]:
        """The worst w of every violated constraint as a further cut; one wait for the device in ``inner_steps``."""
        violated = (evaluation.g > self.accuracy).tolist()
        grown, multipliers = list(cuts), list(reached.multipliers)
        for i, w in enumerate(evaluation.maximisers.w):
            if violated[i] and w is not None:
                grown[i] = torch.cat([cuts[i], _row(w, reached.x)])
                multipliers[i] = torch.cat([multipliers[i], multipliers[i].new_zeros(1)])
        if not any(violated):
            return cuts, reached
        return tuple(grown), reached._replace(multipliers=tuple(multipliers))


def _terms(oracle: Oracle, cuts: tuple[Tensor, ...], evaluation: Evaluation, gradients: Gradients) -> Terms:
    """The Lagrangian of the finite problem at an evaluated point."""
    violations = tuple(_with_cuts(oracle).cut_values(evaluation, i, points) for i, points in enumerate(cuts))

    def pullback(factors: Tensor) -> Tensor:
        of_loss, *of_cuts = torch.split(factors, [1, *(len(points) for points in cuts)])
        total = of_loss.to(gradients.f.dtype) * gradients.f
        for i, (points, weights) in enumerate(zip(cuts, of_cuts, strict=True)):
            total = total + _with_cuts(oracle).cut_gradient(evaluation, i, points, weights)
        return total

    return Terms(evaluation.f, violations, pullback)


def _with_cuts(oracle: Oracle) -> CutOracle:
    """The oracle as one that evaluates cuts; a TypeError where it cannot."""
    if not isinstance(oracle, CutOracle):
        raise TypeError(
            "discretization needs an oracle that can evaluate a constraint at a given w (CutOracle); this one cannot"
        )
    return oracle


def _row(w: Tensor | None, x: Tensor) -> Tensor:
    """A worst case as a row of cuts; an empty one where there is nothing to maximise over."""
    return x.new_zeros(1, 0) if w is None else w.unsqueeze(0)


register(DiscretizationState)

ENTRIES = (
    MethodEntry(
        "discretization_cooper",
        Discretization,
        options={**RATES, "inner_steps": Option(50, int, at_least=1)},
        grid=RATE_GRID,
        look=Look("discretization, Cooper", "#009e73", "-."),
        needs_weights=True,
    ),
)
