"""The phases of the default method, its state, and the turns from one phase to another or to the end.

DESCENT      the merit function f + mu max_i [g_i]_+ is decreased
RESTORATION  no penalty was enough: the violation alone is decreased, until it is gone or has no descent
BUNDLE       the worst case is not unique: several worst cases give direction and certificate (`optim.kinks`)
"""

from enum import Enum
from typing import NamedTuple, TypeGuard

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, truth
from idbpd.optim.kinks import bundle_step
from idbpd.optim.kinks.bundle import empty_bundle
from idbpd.optim.kinks.bundle_step import BundleState
from idbpd.optim.kinks.detect import KinkWatch, find_kink
from idbpd.optim.method import Status, Verdict
from idbpd.optim.oracle import Evaluation, Maximisers, Oracle, PromptOracle, TermOracle, attempt
from idbpd.optim.quasi_newton import restoration
from idbpd.optim.quasi_newton.lbfgs import LearntMetric, identity
from idbpd.optim.quasi_newton.penalty import Penalty
from idbpd.optim.quasi_newton.penalty_model import violation
from idbpd.optim.quasi_newton.point import Arrival, EvaluatedPoint, MetricGradients, arrive, in_scaled_identity
from idbpd.optim.quasi_newton.speculative_trial import SpeculativeTrial

_LONG = 0.1  # length of arc: at a kink steps get shorter and shorter, and so they are not as long as this
_PATIENCE = 30  # steps whose gain rounding hides, without a better residual, before the run ends
UNBOUNDED = Verdict(Status.DIVERGED, "the objective is unbounded below")
_ROUNDING = "rounding hides any further progress"


class Phase(Enum):
    """What the next step does."""

    DESCENT = "descent"
    RESTORATION = "restoration"
    BUNDLE = "bundle"


class RestorationMemory(NamedTuple):
    """What restorations remember."""

    began_with: float = 0.0  # the violation when the present one began
    least_violation: float = torch.inf  # the least violation from which there was no descent
    displacements: int = 0  # how often such a point was left at random without gain


class IDBPDState(NamedTuple):
    """Where the run is, in which phase, and what its safeguards remember."""

    phase: Phase
    point: EvaluatedPoint
    in_metric: MetricGradients
    t: float  # the length of arc that the last search accepted
    margin: Tensor  # (c,) by how much the last step's linearised constraints were too low
    penalty: Penalty
    floor: float  # an objective below this counts as unbounded
    best_worst: float  # the least worst residual so far
    hidden_steps: int = 0  # steps in a row whose gain rounding hides, without a better residual
    restoration: RestorationMemory = RestorationMemory()
    watch: KinkWatch = KinkWatch()
    bundle: BundleState | None = None  # in the phase BUNDLE
    speculative: SpeculativeTrial | None = None  # the first trial of the next search, where it was made already
    verdict: Verdict | None = None  # why the run is over


def new_point(oracle: Oracle, evaluation: Evaluation, around: Tensor) -> Arrival:
    """An evaluated point that no step led to, in the identity metric."""
    metric = identity(evaluation.x)
    kept = torch.ones((), dtype=torch.bool, device=evaluation.x.device)
    return arrive(evaluation, oracle.differentiate(evaluation), around, LearntMetric(metric, kept), metric)


def visit(oracle: Oracle, x: Tensor, warm: Maximisers, around: Tensor) -> Arrival:
    """Evaluate a point that no step led to, with one wait if the inner maxima do not want more."""
    arrival = new_point(oracle, attempt(oracle, x, warm), around)
    if not (arrival.is_open and isinstance(oracle, PromptOracle)):
        return arrival
    return new_point(oracle, oracle.complete(arrival.point.evaluation, warm), around)


def reset_metric(state: IDBPDState) -> IDBPDState:
    """``state`` without what was learnt about curvature, besides its scale."""
    return state._replace(in_metric=in_scaled_identity(state.point, state.in_metric.scale), speculative=None, t=1.0)


def after_step(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """Turn elsewhere, or end, where going on like this leads nowhere."""
    infeasible = violation(state.point.g) > tolerance
    if state.point.f < state.floor:
        return begin_restoration(state) if infeasible else state._replace(verdict=UNBOUNDED)
    if state.hidden_steps < _PATIENCE:
        return state
    if infeasible:
        return leave_infeasible(oracle, state._replace(hidden_steps=0), tolerance)
    if state.t >= _LONG and state.in_metric.metric.steps.shape[0] > 0:
        # Steps are long in a metric that knows the curvature: several worst cases have nothing to explain.
        return state._replace(verdict=Verdict(Status.MAX_STEPS, _ROUNDING))
    return end(oracle, state, tolerance, _ROUNDING)


def end(oracle: Oracle, state: IDBPDState, tolerance: float, reason: str) -> IDBPDState:
    """The end at a feasible point without a certificate, unless several worst cases can still give one."""
    tried = _begin_bundle(oracle, state, tolerance)
    return tried or state._replace(verdict=Verdict(Status.MAX_STEPS, reason))


def leave_infeasible(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """What to do at an infeasible point from which no search makes progress."""
    if state.phase is not Phase.RESTORATION:
        return begin_restoration(state)
    return _begin_bundle(oracle, state, tolerance) or displace(oracle, state)


def begin_restoration(state: IDBPDState) -> IDBPDState:
    """Begin to minimise the violation alone, in a metric of its own."""
    in_metric = in_scaled_identity(state.point, restoration.first_scale(state.point))
    memory = state.restoration._replace(began_with=violation(state.point.g))
    return state._replace(phase=Phase.RESTORATION, restoration=memory, in_metric=in_metric, speculative=None, t=1.0)


def end_restoration(state: IDBPDState) -> IDBPDState:
    """Take the objective up again, with a penalty that is chosen anew."""
    penalty = state.penalty._replace(mu=0.0, is_patient=False)
    return reset_metric(state)._replace(phase=Phase.DESCENT, penalty=penalty)


def displace(oracle: Oracle, state: IDBPDState) -> IDBPDState:
    """Leave at random a point where the violation has no descent, or say that the constraints cannot be met."""
    memory, now = state.restoration, violation(state.point.g)
    count = 0 if now < memory.least_violation * (1 - 1e-6) else memory.displacements
    least = min(now, memory.least_violation)
    if count >= restoration.ATTEMPTS:
        reason = f"the violation {least:.3e} cannot be reduced near this point"
        return state._replace(verdict=Verdict(Status.INFEASIBLE, reason))
    here = state.point.evaluation
    there = visit(oracle, restoration.displaced(here.x, count), here.maximisers, state.point.host_multipliers).point
    point = there if there.worst < torch.inf else state.point
    return state._replace(
        phase=Phase.RESTORATION,
        restoration=memory._replace(least_violation=least, displacements=count + 1),
        point=point,
        in_metric=in_scaled_identity(point, restoration.first_scale(point)),
        speculative=None,
        t=1.0,
    )


def check_for_kink(oracle: Oracle, state: IDBPDState, watch: KinkWatch, tolerance: float) -> IDBPDState:
    """Turn to several worst cases where there seems to be a kink; end where nothing has been gained for long."""
    if state.verdict is not None or state.phase is Phase.BUNDLE or not isinstance(oracle, TermOracle):
        return state
    state = state._replace(watch=watch)
    if watch.is_stagnant:
        return end(oracle, state, tolerance, "no step gains anything")
    if not (watch.is_suspicious and watch.may_try_bundle and _has_several(oracle, state.point.evaluation)):
        return state
    restoring = state.phase is Phase.RESTORATION
    begun = find_kink(oracle, state.point, watch, state.penalty.mu, tolerance, restoring=restoring)
    if begun is None:
        return state._replace(watch=watch.after_false_alarm())
    return state._replace(phase=Phase.BUNDLE, bundle=begun)


def after_bundle_step(oracle: TermOracle, state: IDBPDState, bundle: BundleState) -> IDBPDState:
    """``state`` after a step with several worst cases; where these have nothing more to offer, back to one."""
    if not bundle.over:
        unbounded = number(bundle.values[0]) < state.floor and violation(bundle.values[1:]) == 0
        return state._replace(bundle=bundle, verdict=UNBOUNDED if unbounded else None)
    point, in_metric, *_ = new_point(oracle, bundle.iterate.evaluation, state.point.host_multipliers)
    moved = truth((point.evaluation.x != state.point.evaluation.x).any())
    state = state._replace(
        phase=Phase.DESCENT,
        bundle=None,
        point=point,
        in_metric=in_metric,
        speculative=None,
        t=1.0,
        margin=torch.zeros_like(point.g),
        penalty=state.penalty._replace(mu=0.0),
        hidden_steps=0,
        best_worst=min(point.worst, state.best_worst),
        watch=state.watch.after_bundle(moved=moved),
    )
    if bundle.stuck:
        memory = state.restoration._replace(began_with=violation(point.g))
        return displace(oracle, state._replace(restoration=memory, watch=KinkWatch()))
    return state


def _begin_bundle(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState | None:
    """``state`` in the phase BUNDLE; None where one worst case is all there is, or the phase was of no use before."""
    here, watch = state.point.evaluation, state.watch
    if not (watch.may_try_bundle and _has_several(oracle, here)):
        return None
    bundle, _ = empty_bundle(here.x).with_points(oracle, here.x, [here.maximisers, *watch.recent])
    return state._replace(
        phase=Phase.BUNDLE, bundle=bundle_step.begin(oracle, here, bundle, state.penalty.mu, tolerance)
    )


def _has_several(oracle: Oracle, here: Evaluation) -> TypeGuard[TermOracle]:
    """Whether a term is a maximum, of which several worst cases can be looked at."""
    return isinstance(oracle, TermOracle) and any(p is not None for p in (here.maximisers.y, *here.maximisers.w))
