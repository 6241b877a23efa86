"""`IDBPD`: the default method, the dynamic barrier in a quasi-Newton metric with a safeguarded search.

It is ours, not the paper's: Theorem 2 does not cover it (it covers `IDBPD.paper`). What it has in common with Algorithm
1 is the quadratic program of the direction, with the barrier g_i itself in place of alpha_k ||grad g_i||, the metric H
in place of the identity, and multipliers that stay below a penalty parameter.

Where the worst case is not unique, f or a g has a kink, and one maximiser gives neither a direction nor a certificate.
`jumps` recognises that, and the phase in `exchange` goes on with several worst cases at once. It needs an oracle that
knows its terms at any y and w (`TermOracle`), as that of a `Problem` does; without one nothing of this happens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from idbpd.optim.device_reads import truth
from idbpd.optim.kinks import bundle_step
from idbpd.optim.method import Iterate, Verdict
from idbpd.optim.oracle import Oracle, TermOracle
from idbpd.optim.paper.algorithm1 import Algorithm1
from idbpd.optim.paper.schedules import LogarithmicSteps, Schedule, TheoremConstraintSteps, barrier, constant
from idbpd.optim.quasi_newton import restoration
from idbpd.optim.quasi_newton.arc_search import Found, Unbounded, search
from idbpd.optim.quasi_newton.lbfgs import Step, learn_pair, learn_scale
from idbpd.optim.quasi_newton.merit import Merit, steer
from idbpd.optim.quasi_newton.penalty_model import Model, violation
from idbpd.optim.quasi_newton.phases import (
    UNBOUNDED,
    IDBPDState,
    displace,
    ended,
    exchanged,
    forgetful,
    judged,
    leave,
    restore,
    visited,
    watched,
)
from idbpd.optim.quasi_newton.point import Arrival, arrive
from idbpd.optim.quasi_newton.speculative_trial import Outlook

_NOTICEABLE, _STAGNATION = 0.9, 50  # a violation that has not fallen to this share in so many steps is stagnant
_NO_GAIN = 1e-10  # relative fall of the merit function that counts as none


@final
@dataclass(frozen=True)
class IDBPD:
    """The product's best solver; the defaults need no tuning. `IDBPD.paper` is Algorithm 1 as written.

    ``metric`` is "quasi-newton" (limited-memory BFGS with ``memory`` pairs) or "identity" (a step size from the local
    curvature; at kinks the other one all the same).
    """

    metric: Literal["quasi-newton", "identity"] = "quasi-newton"
    memory: int = 50

    def __post_init__(self) -> None:
        """Reject settings that mean nothing."""
        if self.metric not in ("quasi-newton", "identity"):
            raise ValueError(f"metric must be 'quasi-newton' or 'identity', got {self.metric!r}")
        if self.memory < 1:
            raise ValueError(f"memory must be at least 1, got {self.memory}")

    @staticmethod
    def paper(
        gamma: float | Schedule = 1e-3,
        alpha: float | Schedule = 1.0,
        objective_steps: Callable[[int], int] | None = None,
        constraint_steps: Callable[[int], int] | TheoremConstraintSteps | None = None,
        accelerated: bool = False,
    ) -> Algorithm1:
        """Algorithm 1. Numbers give the schedules of the experiments, functions of the step any other: see
        `idbpd.optim.paper.schedules`.

        gamma_k = gamma, alpha_k = alpha / (k + 2)^1.001, N_k = 2 ceil(log(k + 2)), M_k = 10 ceil(log(k + 2));
        ``accelerated`` takes Nesterov's steps on y and w. The unconstrained variant is this method on a problem without
        constraints.
        """
        return Algorithm1(
            gamma=gamma if callable(gamma) else constant(gamma, "gamma"),
            alpha=alpha if callable(alpha) else barrier(alpha),
            objective_steps=LogarithmicSteps(2) if objective_steps is None else objective_steps,
            constraint_steps=LogarithmicSteps(10) if constraint_steps is None else constraint_steps,
            accelerated=accelerated,
        )

    @property
    def state_type(self) -> type[IDBPDState]:
        """What its states are."""
        return IDBPDState

    @property
    def check_every(self) -> int:
        """The search looks at the numbers anyway."""
        return 1

    @property
    def picks_by_residual(self) -> bool:
        """The smallest residual of a run may sit on a plateau: the best feasible point is wanted."""
        return False

    def init(self, oracle: Oracle, x: Tensor) -> IDBPDState:
        """The start, with the identity as the metric."""
        none = torch.zeros(oracle.constraint_count, dtype=torch.float64)
        place, slopes, *_ = visited(oracle, x, oracle.start(x), none)
        floor = -max(1.0, abs(place.f)) / torch.finfo(x.dtype).eps ** 2
        return IDBPDState(
            place, slopes, None, 0.0, False, torch.inf, 0, 1.0, floor, none, None, torch.inf, 0, place.worst, 0, None
        )

    def iterate(self, state: IDBPDState) -> Iterate:
        """The iterate with the multipliers that certify it best; at a kink, with the weights of its worst cases."""
        if state.exchange is not None:
            return state.exchange.iterate
        place = state.place
        return Iterate(place.evaluation, place.gradients, place.multipliers, place.residuals, place.worst)

    def verdict(self, state: IDBPDState) -> Verdict | None:
        """Why no further step is possible, or None."""
        return state.verdict

    def step(self, oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
        """Minimise the model, search along its arc, go there, and learn the curvature on the way."""
        if state.exchange is not None and isinstance(oracle, TermOracle):
            return exchanged(oracle, state, bundle_step.step(oracle, state.exchange, tolerance, self.memory))
        now = violation(state.place.g)
        fallen = now <= _NOTICEABLE * state.milestone
        state = state._replace(
            milestone=now if fallen else state.milestone, since_milestone=0 if fallen else state.since_milestone + 1
        )
        if state.restoring_from is not None:
            if now <= max(0.1 * tolerance, 1e-4 * state.restoring_from):
                state = forgetful(state)._replace(restoring_from=None, penalty=0.0, patient=False)
            elif restoration.has_no_descent(state.place, tolerance):
                return displace(oracle, state)
        while True:
            moved = self._move(oracle, state, tolerance)
            if moved is not None:
                return moved
            if state.slopes.metric.steps.shape[0] == 0:
                break
            # Nothing along this arc: what was learnt about curvature misleads. Once more without it.
            state = forgetful(state)
        if now <= tolerance:
            return ended(oracle, state, tolerance, "no step reduces the merit function beyond rounding")
        return leave(oracle, state, tolerance)

    def _move(self, oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState | None:
        """One search with the metric as it is; None when it finds nothing."""
        place, slopes, restoring = state.place, state.slopes, state.restoring_from is not None
        model = Model(slopes.rows, slopes.gram, place.g, state.margin, 0.0 if restoring else 1.0)
        if not truth((model.gram.diagonal() >= 0).all()):
            return None  # rounding has cost the metric its definiteness
        penalty, hopeless = 1.0, False
        if not restoring:
            patient = state.patient and state.since_milestone <= _STAGNATION
            penalty, hopeless = steer(model, state.penalty, tolerance, struggling=state.t < 0.1, patient=patient)
        if hopeless and violation(place.g) > tolerance:
            if state.patient:
                return restore(state)
            # Before the objective is given up: with a small penalty, both may fall together.
            return forgetful(state)._replace(patient=True, penalty=0.0, milestone=torch.inf)
        merit = Merit(model.objective, penalty, place.doubts)
        doubt = merit.noise(place.g)
        t, values = _first_length(state.t), (place.f, place.g)
        while True:
            found = search(oracle, place.evaluation, values, model, merit, doubt=doubt, t=t, ahead=state.ahead)
            if found is None:
                return None
            if isinstance(found, Unbounded):
                return state._replace(verdict=UNBOUNDED)
            # By how much the linearised constraints were too low.
            margin = (found.g - place.g - found.proposal.change).clamp(min=0)
            following = state._replace(
                penalty=penalty, margin=margin, t=1.0 if self.metric == "identity" else found.proposal.t
            )
            there, learnt, ahead, _ = self._go(oracle, following, found)
            if there.worst < torch.inf:
                break
            t = 0.2 * found.proposal.t  # finite values without finite gradients: the edge of the domain
        state = following._replace(place=there, slopes=learnt, ahead=ahead)
        gain, nothing = merit.at(*values) - merit.at(there.f, there.g), _NO_GAIN * abs(merit.at(*values))
        gained = there.worst < state.best_worst or gain > nothing
        stalled = 0 if there.worst < state.best_worst or found.proposal.reduction > doubt else state.stalled + 1
        state = state._replace(stalled=stalled, best_worst=min(there.worst, state.best_worst))
        state = judged(oracle, state, tolerance)
        return watched(oracle, state, state.jumps.after(place.evaluation.maximisers, found, gained=gained), tolerance)

    def _go(self, oracle: Oracle, state: IDBPDState, found: Found) -> Arrival:
        """Go where a search has ended, learn about curvature on the way, and look ahead."""
        place, metric = state.place, state.slopes.metric
        gradients = oracle.differentiate(found.evaluation)
        s = found.evaluation.x - place.evaluation.x
        step = Step(s, found.proposal.weights, found.proposal.t, place.gradients, gradients)
        learnt = learn_scale(metric, step) if self.metric == "identity" else learn_pair(metric, step, self.memory)
        outlook = None
        if s.device.type != "cpu":  # where there is something to wait for
            outlook = self._outlook(oracle, state, found)
        return arrive(found.evaluation, gradients, place.certifying, learnt, metric, outlook)

    def _outlook(self, oracle: Oracle, state: IDBPDState, found: Found) -> Outlook:
        """What the next search will look like, as far as ``state`` and the values found tell."""
        t, objective, penalty = _first_length(state.t), 1.0, state.penalty
        budget = 10 * penalty if t == 1 else penalty  # `steer` raises it so far where a full step wants more
        if state.restoring_from is not None:
            objective, penalty, budget = 0.0, 1.0, 1.0
        positive = found.proposal.multipliers > 0
        return Outlook(oracle, t, objective, found.g, state.margin, penalty, budget, positive)


def _first_length(last: float) -> float:
    """How far the first trial of a search goes, from where the last search ended."""
    return min(1.0, 8 * last)
