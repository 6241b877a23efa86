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
from typing import Literal, NamedTuple, TypeGuard, final

import torch
from torch import Tensor

from idbpd.optim import exchange, restoration
from idbpd.optim.algorithm1 import Algorithm1
from idbpd.optim.cuts import no_cuts
from idbpd.optim.exchange import Exchange
from idbpd.optim.host import number, truth
from idbpd.optim.jumps import Jumps, look
from idbpd.optim.method import Iterate, Status, Verdict
from idbpd.optim.metric import identity
from idbpd.optim.model import Model, violation
from idbpd.optim.oracle import Evaluation, Oracle, TermOracle
from idbpd.optim.outlook import Ahead, Outlook
from idbpd.optim.penalty import Merit, steer
from idbpd.optim.place import Arrival, Place, Slopes, arrive, unlearnt
from idbpd.optim.schedules import LogarithmicSteps, Schedule, TheoremConstraintSteps, barrier, constant
from idbpd.optim.search import Found, Unbounded, search
from idbpd.optim.secant import Learnt, Step, learn_pair, learn_scale

_NOTICEABLE, _STAGNATION = 0.9, 50  # a violation that has not fallen to this share in so many steps is stagnant
_PATIENCE = 30  # steps whose gain rounding hides, without a better residual, before the run ends
_NO_GAIN = 1e-10  # relative fall of the merit function that counts as none


class IDBPDState(NamedTuple):
    """Where the run is, its metric, and what its safeguards remember."""

    place: Place
    slopes: Slopes
    ahead: Ahead | None  # the first trial of the next search, where it has been made already
    penalty: float  # mu of the merit function; 0 before it is first chosen
    patient: bool  # whether the penalty is chosen patiently: after the first time that no penalty seemed enough
    milestone: float  # the violation when it had last fallen noticeably
    since_milestone: int  # steps since then
    t: float  # the length of arc that the last search accepted
    floor: float  # an objective below this counts as unbounded
    margin: Tensor  # (c,) by how much the last step's linearised constraints were too low
    restoring_from: float | None  # the violation at which restoration began; None outside of it
    least_violation: float  # the least violation from which there was no descent
    displacements: int  # how often such a point was left at random without gain
    best_worst: float
    stalled: int  # steps in the noise of rounding without a better residual
    verdict: Verdict | None
    jumps: Jumps = Jumps()  # what is remembered to recognise a kink
    exchange: Exchange | None = None  # the phase for kinks; None outside of it


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
        """Algorithm 1. Numbers give the schedules of the experiments, functions of the step (`idbpd.optim.schedules`)
        any other.

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
        evaluation = oracle.evaluate(x, oracle.start(x))
        none = torch.zeros(oracle.constraint_count, dtype=torch.float64)
        place, slopes, _ = _afresh(oracle, evaluation, none)
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
            return _exchanged(oracle, state, exchange.step(oracle, state.exchange, tolerance, self.memory))
        now = violation(state.place.g)
        fallen = now <= _NOTICEABLE * state.milestone
        state = state._replace(
            milestone=now if fallen else state.milestone, since_milestone=0 if fallen else state.since_milestone + 1
        )
        if state.restoring_from is not None:
            if now <= max(0.1 * tolerance, 1e-4 * state.restoring_from):
                state = _forgetful(state)._replace(restoring_from=None, penalty=0.0, patient=False)
            elif restoration.has_no_descent(state.place, tolerance):
                return _displace(oracle, state)
        while True:
            moved = self._move(oracle, state, tolerance)
            if moved is not None:
                return moved
            if state.slopes.metric.steps.shape[0] == 0:
                break
            # Nothing along this arc: what was learnt about curvature misleads. Once more without it.
            state = _forgetful(state)
        if now <= tolerance:
            return _ended(oracle, state, tolerance, "no step reduces the merit function beyond rounding")
        return _leave(oracle, state, tolerance)

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
                return _restore(state)
            # Before the objective is given up: with a small penalty, both may fall together.
            return _forgetful(state)._replace(patient=True, penalty=0.0, milestone=torch.inf)
        merit = Merit(model.objective, penalty)
        doubt = merit.noise(place.doubts)
        t, values = _first_length(state.t), (place.f, place.g)
        while True:
            found = search(oracle, place.evaluation, values, model, merit, doubt=doubt, t=t, ahead=state.ahead)
            if found is None:
                return None
            if isinstance(found, Unbounded):
                return state._replace(verdict=_UNBOUNDED)
            # By how much the linearised constraints were too low.
            margin = (found.g - place.g - found.proposal.change).clamp(min=0)
            following = state._replace(
                penalty=penalty, margin=margin, t=1.0 if self.metric == "identity" else found.proposal.t
            )
            there, learnt, ahead = self._go(oracle, following, found)
            if there.worst < torch.inf:
                break
            t = 0.2 * found.proposal.t  # finite values without finite gradients: the edge of the domain
        state = following._replace(place=there, slopes=learnt, ahead=ahead)
        gain, nothing = merit.at(*values) - merit.at(there.f, there.g), _NO_GAIN * abs(merit.at(*values))
        gained = there.worst < state.best_worst or gain > nothing
        stalled = 0 if there.worst < state.best_worst or found.proposal.reduction > doubt else state.stalled + 1
        state = state._replace(stalled=stalled, best_worst=min(there.worst, state.best_worst))
        state = _judged(oracle, state, tolerance)
        return _watched(oracle, state, state.jumps.after(place.evaluation.maximisers, found, gained=gained), tolerance)

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


_UNBOUNDED = Verdict(Status.DIVERGED.value, "the objective is unbounded below")


def _first_length(last: float) -> float:
    """How far the first trial of a search goes, from where the last search ended."""
    return min(1.0, 8 * last)


def _afresh(oracle: Oracle, evaluation: Evaluation, around: Tensor) -> Arrival:
    """A place that no step led to."""
    metric = identity(evaluation.x)
    kept = torch.ones((), dtype=torch.bool, device=evaluation.x.device)
    return arrive(evaluation, oracle.differentiate(evaluation), around, Learnt(metric, kept), metric)


def _forgetful(state: IDBPDState) -> IDBPDState:
    """``state`` without what was learnt about curvature, besides its scale."""
    return state._replace(slopes=unlearnt(state.place, state.slopes.scale), ahead=None, t=1.0)


def _judged(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """``state`` after a step, turned elsewhere or ended where going on like this leads nowhere."""
    infeasible = violation(state.place.g) > tolerance
    if state.place.f < state.floor:
        return _restore(state) if infeasible else state._replace(verdict=_UNBOUNDED)
    if state.stalled < _PATIENCE:
        return state
    if infeasible:
        return _leave(oracle, state._replace(stalled=0), tolerance)
    return _ended(oracle, state, tolerance, "rounding hides any further progress")


def _ended(oracle: Oracle, state: IDBPDState, tolerance: float, reason: str) -> IDBPDState:
    """The end at a feasible point without a certificate, unless several worst cases can still give one."""
    resolved = _resolving(oracle, state, tolerance)
    return resolved or state._replace(verdict=Verdict(Status.MAX_STEPS.value, reason))


def _resolving(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState | None:
    """``state`` in the phase for kinks; None where there can be none, or the phase was of no use."""
    here, jumps = state.place.evaluation, state.jumps
    if not (jumps.can_be_resolved and _has_several(oracle, here)):
        return None
    cuts, _ = no_cuts(here.x).with_points(oracle, here.x, [here.maximisers, *jumps.recent])
    return state._replace(exchange=exchange.begin(oracle, here, cuts, state.penalty, tolerance))


def _has_several(oracle: Oracle, here: Evaluation) -> TypeGuard[TermOracle]:
    """Whether a term is a maximum, of which several worst cases can be looked at."""
    return isinstance(oracle, TermOracle) and any(p is not None for p in (here.maximisers.y, *here.maximisers.w))


def _watched(oracle: Oracle, state: IDBPDState, jumps: Jumps, tolerance: float) -> IDBPDState:
    """``state`` after a step, in the phase for kinks where there seems to be one, ended where it gets nowhere."""
    if state.verdict is not None or state.exchange is not None or not isinstance(oracle, TermOracle):
        return state
    is_hopeless = not jumps.can_be_resolved or not _has_several(oracle, state.place.evaluation)
    if is_hopeless and jumps.is_stagnant:
        reason = "no step gains anything, and no worst cases met on the way give a certificate"
        return state._replace(verdict=Verdict(Status.MAX_STEPS.value, reason))
    if not is_hopeless and jumps.is_suspicious:
        restoring = state.restoring_from is not None
        begun = look(oracle, state.place, jumps, state.penalty, tolerance, restoring=restoring)
        if begun is not None:
            return state._replace(jumps=jumps, exchange=begun)
        jumps = jumps.unfounded()
    return state._replace(jumps=jumps)


def _exchanged(oracle: TermOracle, state: IDBPDState, following: Exchange) -> IDBPDState:
    """``state`` after a step of the phase for kinks."""
    if not following.over:
        unbounded = number(following.values[0]) < state.floor and violation(following.values[1:]) == 0
        return state._replace(exchange=following, verdict=_UNBOUNDED if unbounded else None)
    place, slopes, _ = _afresh(oracle, following.iterate.evaluation, state.place.certifying)
    moved = truth((place.evaluation.x != state.place.evaluation.x).any())
    state = state._replace(place=place, slopes=slopes, ahead=None, t=1.0, margin=torch.zeros_like(place.g))
    state = state._replace(exchange=None, penalty=0.0, stalled=0, best_worst=min(place.worst, state.best_worst))
    if following.stuck:
        return _displace(oracle, state._replace(restoring_from=violation(place.g), jumps=Jumps()))
    return state._replace(restoring_from=None, jumps=state.jumps.unresolved(moved=moved))


def _leave(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """What to do at an infeasible point from which no search gets on."""
    if state.restoring_from is None:
        return _restore(state)
    return _resolving(oracle, state, tolerance) or _displace(oracle, state)


def _restore(state: IDBPDState) -> IDBPDState:
    """Begin to minimise the violation alone, in a metric of its own."""
    slopes = unlearnt(state.place, restoration.first_scale(state.place))
    return state._replace(restoring_from=violation(state.place.g), slopes=slopes, ahead=None, t=1.0)


def _displace(oracle: Oracle, state: IDBPDState) -> IDBPDState:
    """Leave at random a point where the violation has no descent, or say that the constraints cannot be met."""
    now = violation(state.place.g)
    count = 0 if now < state.least_violation * (1 - 1e-6) else state.displacements
    least = min(now, state.least_violation)
    if count >= restoration.ATTEMPTS:
        reason = f"the violation {least:.3e} cannot be reduced near this point"
        return state._replace(verdict=Verdict(Status.INFEASIBLE.value, reason))
    here = state.place.evaluation
    evaluation = oracle.evaluate(restoration.displaced(here.x, count), here.maximisers)
    there, *_ = _afresh(oracle, evaluation, state.place.certifying)
    place = there if there.worst < torch.inf else state.place
    slopes = unlearnt(place, restoration.first_scale(place))
    return state._replace(place=place, slopes=slopes, ahead=None, t=1.0, least_violation=least, displacements=count + 1)
