"""Where a run of `IDBPD` turns: to minimising the violation alone, away from a point at random, to the phase for kinks,
or to its end.
"""

from typing import NamedTuple, TypeGuard

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, truth
from idbpd.optim.kinks import bundle_step
from idbpd.optim.kinks.bundle import no_cuts
from idbpd.optim.kinks.bundle_step import Exchange
from idbpd.optim.kinks.detect import Jumps, look
from idbpd.optim.method import Status, Verdict
from idbpd.optim.oracle import Evaluation, Maximisers, Oracle, PromptOracle, TermOracle, attempt
from idbpd.optim.quasi_newton import restoration
from idbpd.optim.quasi_newton.lbfgs import Learnt, identity
from idbpd.optim.quasi_newton.penalty_model import violation
from idbpd.optim.quasi_newton.point import Arrival, Place, Slopes, arrive, unlearnt
from idbpd.optim.quasi_newton.speculative_trial import Ahead

_ROUNDING = "rounding hides any further progress"
_LONG = 0.1  # length of arc
_PATIENCE = 30  # steps whose gain rounding hides, without a better residual, before the run ends


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


UNBOUNDED = Verdict(Status.DIVERGED.value, "the objective is unbounded below")


def afresh(oracle: Oracle, evaluation: Evaluation, around: Tensor) -> Arrival:
    """A place that no step led to."""
    metric = identity(evaluation.x)
    kept = torch.ones((), dtype=torch.bool, device=evaluation.x.device)
    return arrive(evaluation, oracle.differentiate(evaluation), around, Learnt(metric, kept), metric)


def visited(oracle: Oracle, x: Tensor, warm: Maximisers, around: Tensor) -> Arrival:
    """A point that is evaluated here for the first time, with one wait if the inner maxima do not want more."""
    arrival = afresh(oracle, attempt(oracle, x, warm), around)
    if not (arrival.is_open and isinstance(oracle, PromptOracle)):
        return arrival
    return afresh(oracle, oracle.complete(arrival.place.evaluation, warm), around)


def forgetful(state: IDBPDState) -> IDBPDState:
    """``state`` without what was learnt about curvature, besides its scale."""
    return state._replace(slopes=unlearnt(state.place, state.slopes.scale), ahead=None, t=1.0)


def judged(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """``state`` after a step, turned elsewhere or ended where going on like this leads nowhere."""
    infeasible = violation(state.place.g) > tolerance
    if state.place.f < state.floor:
        return restore(state) if infeasible else state._replace(verdict=UNBOUNDED)
    if state.stalled < _PATIENCE:
        return state
    if infeasible:
        return leave(oracle, state._replace(stalled=0), tolerance)
    if state.t >= _LONG and state.slopes.metric.steps.shape[0] > 0:
        # At a kink steps get shorter and shorter: where they are long in a metric that knows the curvature, several
        # worst cases have nothing to explain.
        return state._replace(verdict=Verdict(Status.MAX_STEPS.value, _ROUNDING))
    return ended(oracle, state, tolerance, _ROUNDING)


def ended(oracle: Oracle, state: IDBPDState, tolerance: float, reason: str) -> IDBPDState:
    """The end at a feasible point without a certificate, unless several worst cases can still give one."""
    resolved = _resolving(oracle, state, tolerance)
    return resolved or state._replace(verdict=Verdict(Status.MAX_STEPS.value, reason))


def _resolving(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState | None:
    """``state`` in the phase for kinks; None where there can be none, or the phase was of no use."""
    here, jumps = state.place.evaluation, state.jumps
    if not (jumps.can_be_resolved and _has_several(oracle, here)):
        return None
    cuts, _ = no_cuts(here.x).with_points(oracle, here.x, [here.maximisers, *jumps.recent])
    return state._replace(exchange=bundle_step.begin(oracle, here, cuts, state.penalty, tolerance))


def _has_several(oracle: Oracle, here: Evaluation) -> TypeGuard[TermOracle]:
    """Whether a term is a maximum, of which several worst cases can be looked at."""
    return isinstance(oracle, TermOracle) and any(p is not None for p in (here.maximisers.y, *here.maximisers.w))


def watched(oracle: Oracle, state: IDBPDState, jumps: Jumps, tolerance: float) -> IDBPDState:
    """``state`` after a step, in the phase for kinks where there seems to be one, ended where it gets nowhere."""
    if state.verdict is not None or state.exchange is not None or not isinstance(oracle, TermOracle):
        return state
    is_hopeless = not jumps.can_be_resolved or not _has_several(oracle, state.place.evaluation)
    if jumps.is_stagnant:
        return ended(oracle, state._replace(jumps=jumps), tolerance, "no step gains anything")
    if not is_hopeless and jumps.is_suspicious:
        restoring = state.restoring_from is not None
        begun = look(oracle, state.place, jumps, state.penalty, tolerance, restoring=restoring)
        if begun is not None:
            return state._replace(jumps=jumps, exchange=begun)
        jumps = jumps.unfounded()
    return state._replace(jumps=jumps)


def exchanged(oracle: TermOracle, state: IDBPDState, following: Exchange) -> IDBPDState:
    """``state`` after a step of the phase for kinks."""
    if not following.over:
        unbounded = number(following.values[0]) < state.floor and violation(following.values[1:]) == 0
        return state._replace(exchange=following, verdict=UNBOUNDED if unbounded else None)
    place, slopes, *_ = afresh(oracle, following.iterate.evaluation, state.place.certifying)
    moved = truth((place.evaluation.x != state.place.evaluation.x).any())
    state = state._replace(place=place, slopes=slopes, ahead=None, t=1.0, margin=torch.zeros_like(place.g))
    state = state._replace(exchange=None, penalty=0.0, stalled=0, best_worst=min(place.worst, state.best_worst))
    if following.stuck:
        return displace(oracle, state._replace(restoring_from=violation(place.g), jumps=Jumps()))
    return state._replace(restoring_from=None, jumps=state.jumps.unresolved(moved=moved))


def leave(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """What to do at an infeasible point from which no search gets on."""
    if state.restoring_from is None:
        return restore(state)
    return _resolving(oracle, state, tolerance) or displace(oracle, state)


def restore(state: IDBPDState) -> IDBPDState:
    """Begin to minimise the violation alone, in a metric of its own."""
    slopes = unlearnt(state.place, restoration.first_scale(state.place))
    return state._replace(restoring_from=violation(state.place.g), slopes=slopes, ahead=None, t=1.0)


def displace(oracle: Oracle, state: IDBPDState) -> IDBPDState:
    """Leave at random a point where the violation has no descent, or say that the constraints cannot be met."""
    now = violation(state.place.g)
    count = 0 if now < state.least_violation * (1 - 1e-6) else state.displacements
    least = min(now, state.least_violation)
    if count >= restoration.ATTEMPTS:
        reason = f"the violation {least:.3e} cannot be reduced near this point"
        return state._replace(verdict=Verdict(Status.INFEASIBLE.value, reason))
    here = state.place.evaluation
    there = visited(oracle, restoration.displaced(here.x, count), here.maximisers, state.place.certifying).place
    place = there if there.worst < torch.inf else state.place
    slopes = unlearnt(place, restoration.first_scale(place))
    return state._replace(place=place, slopes=slopes, ahead=None, t=1.0, least_violation=least, displacements=count + 1)
