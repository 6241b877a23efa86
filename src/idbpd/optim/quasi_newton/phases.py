"""The phases of the default method, its state, and the turns from one phase to another or to the end.

DESCENT      the merit function f + mu max_i [g_i]_+ is decreased
RESTORATION  no penalty was enough: the violation alone is decreased, until it is gone or has no descent

In both, the model has one row per term until a refused trial shows a worst case that it did not know (`optim.kinks`).
"""

from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import read, truth
from idbpd.optim.initial_metric import InitialMetric
from idbpd.optim.kinks.bundle import Bundle, bundle_at
from idbpd.optim.kinks.certificate import STRICTNESS, best_certificate
from idbpd.optim.kinks.saddle_points import with_saddle_points
from idbpd.optim.method import Iterate, Status, Verdict
from idbpd.optim.oracle import (
    Evaluation,
    Maximisers,
    Oracle,
    PromptOracle,
    TermOracle,
    attempt,
    bounds_of,
    sides_at,
)
from idbpd.optim.quasi_newton import restoration
from idbpd.optim.quasi_newton.arc_search import MissingRow
from idbpd.optim.quasi_newton.lbfgs import LearntMetric, without_pairs
from idbpd.optim.quasi_newton.penalty import Penalty
from idbpd.optim.quasi_newton.point import Arrival, EvaluatedPoint, MetricGradients, arrive, in_initial_metric
from idbpd.optim.quasi_newton.speculative_trial import SpeculativeTrial

# Steps whose gain rounding hides, without a better residual, before the run ends. The residual may still fall there,
# but not after so many steps in vain.
_HIDDEN_STEPS = 30
# Steps that rounding does not hide but that gain nothing, without a better residual, before the run ends. There are
# more of them: a slow valley gains as little for a while, and leaves it.
_IDLE_STEPS = 300
_RISEN = 1e-12  # relative rise of a value that a remembered worst case must bring to count: less is rounding
# Rows added in a row before the next trial is shorter, too, and by how much: one more worst case per term is common,
# and four are two for each of two terms.
_NULL_STEPS, _SHORTER = 4, 0.3
UNBOUNDED = Verdict(Status.DIVERGED, "the objective is unbounded below")


class Phase(Enum):
    """What the next step decreases."""

    DESCENT = "descent"
    RESTORATION = "restoration"


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
    t: float  # the length of arc with which the next search begins
    margin: Tensor  # (c,) by how much the last step's linearised constraints were too low
    penalty: Penalty
    floor: float  # an objective below this counts as unbounded
    best_worst: float  # the least worst residual so far
    steps_in_metric: int = 0  # since H0 was first asked for
    flat: float = 1.0  # the largest eigenvalue of an exact metric: how far flat directions are followed
    bundle: Bundle | None = None  # the worst cases of the model, where it has more than one row per term
    certified: Iterate | None = None  # the point with the certificate of the bundle, if that is valid
    bundle_worst: float = torch.inf  # the worst residual with the bundle, whether it is a valid certificate or not
    refused: int = 0  # trials refused in the last search (0 or 1), plus rows added since
    hidden_steps: int = 0  # steps in a row whose gain rounding hides, without a better residual
    idle_steps: int = 0  # steps in a row that gain nothing, without a better residual
    restoration: RestorationMemory = RestorationMemory()
    speculative: SpeculativeTrial | None = None  # the first trial of the next search, where it was made already
    verdict: Verdict | None = None  # why the run is over

    @property
    def worst(self) -> float:
        """The worst residual of the point, with one or with several worst cases."""
        return min(self.point.worst, self.bundle_worst)

    @property
    def initial(self) -> InitialMetric | None:
        """The metric H0 that pairs build on; None: the identity."""
        return self.in_metric.metric.initial


def new_point(oracle: Oracle, evaluation: Evaluation, around: Tensor, initial: InitialMetric | None) -> Arrival:
    """An evaluated point that no step led to, in the metric H0."""
    metric = without_pairs(evaluation.x, initial=initial)
    kept = torch.ones((), dtype=torch.bool, device=evaluation.x.device)
    gradients = oracle.differentiate(evaluation)
    return arrive(evaluation, gradients, around, LearntMetric(metric, kept), metric, bounds=bounds_of(oracle))


def visit(oracle: Oracle, x: Tensor, warm: Maximisers, around: Tensor, initial: InitialMetric | None) -> Arrival:
    """Evaluate a point that no step led to, with one wait if the inner maxima do not want more."""
    arrival = new_point(oracle, attempt(oracle, x, warm), around, initial)
    if not (arrival.is_open and isinstance(oracle, PromptOracle)):
        return arrival
    return new_point(oracle, oracle.complete(arrival.point.evaluation, warm), around, initial)


def reset_metric(state: IDBPDState, scale: float | None = None) -> IDBPDState:
    """``state`` without what was learnt about curvature, besides its scale; with another ``scale``, if given."""
    in_metric = in_initial_metric(state.point, state.in_metric.scale if scale is None else scale, state.initial)
    return state._replace(in_metric=in_metric, speculative=None, t=1.0)


def after_step(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """Turn elsewhere, or end, where going on like this leads nowhere."""
    infeasible = state.point.violation > tolerance
    if state.point.f < state.floor:
        return begin_restoration(state) if infeasible else state._replace(verdict=UNBOUNDED)
    # An oracle that is no TermOracle cannot show a kink. Short steps may be all there is, so the run goes on.
    is_idle = state.idle_steps >= _IDLE_STEPS and isinstance(oracle, TermOracle)
    if not is_idle and state.hidden_steps < _HIDDEN_STEPS:
        return state
    if infeasible:
        return leave_infeasible(oracle, state._replace(hidden_steps=0, idle_steps=0))
    if state.initial is not None:
        # H0 is for a network that learns. One that only guesses (CHD49) ended at 1.3e-3 with it, in float32.
        in_metric = in_initial_metric(state.point, 1.0, None)
        return state._replace(in_metric=in_metric, speculative=None, t=1.0, hidden_steps=0, idle_steps=0)
    return end(oracle, state, tolerance, "no step gains anything" if is_idle else "rounding hides any further progress")


def end(oracle: Oracle, state: IDBPDState, tolerance: float, reason: str) -> IDBPDState:
    """The end at a feasible point: with a certificate at its plain definition, if there is one."""
    state = assess(oracle, state, tolerance, strictness=1.0)
    return state if state.certified is not None else state._replace(verdict=Verdict(Status.MAX_STEPS, reason))


def evaluated_higher(oracle: Oracle, here: Evaluation, values: Tensor, bundle: Bundle) -> Evaluation | None:
    """The point evaluated again from remembered worst cases, where one of them is worse than ``values``, f and g."""
    if not truth((bundle.raised(values) > values + _RISEN * (1 + values.abs())).any()):
        return None
    return oracle.evaluate(here.x, bundle.best(bundle.values, here.maximisers))


def add_row(oracle: Oracle, state: IDBPDState, missing: MissingRow, tolerance: float) -> IDBPDState:
    """A null step: the same point, and a model that knows what a refused trial has shown."""
    point = state.point
    higher = evaluated_higher(oracle, point.evaluation, point.values, missing.bundle)
    if higher is not None:
        # The point itself is worse than was known: it is judged anew, and the search begins again.
        point, in_metric, *_ = new_point(oracle, higher, point.host_multipliers, state.initial)
        state = state._replace(point=point, in_metric=in_metric, bundle=None, certified=None, speculative=None)
        return state._replace(t=missing.t, refused=state.refused + 1, bundle_worst=torch.inf)
    if state.bundle is None:
        state = reset_metric(state, 1.0)  # what was learnt while the worst case jumped is no curvature
    t = missing.t if state.refused < _NULL_STEPS else _SHORTER * missing.t
    state = state._replace(bundle=missing.bundle, t=t, refused=state.refused + 1, speculative=None)
    state = assess(oracle, state, tolerance)
    return state._replace(best_worst=min(state.worst, state.best_worst))


def with_worse_cases(oracle: Oracle, state: IDBPDState, evaluation: Evaluation, tolerance: float) -> IDBPDState:
    """The same x, evaluated anew with higher worst cases: they become rows beside those that were known."""
    old = state.point
    known = state.bundle or bundle_at(old.evaluation, old.values, old.gradients)
    point, in_metric, *_ = new_point(oracle, evaluation, old.host_multipliers, state.initial)
    followed = known.followed(oracle, evaluation, ()) if isinstance(oracle, TermOracle) else None
    bundle = followed[0].trimmed() if followed is not None else None
    state = state._replace(point=point, in_metric=in_metric, bundle=bundle, speculative=None, verdict=None)
    state = state._replace(t=1.0, refused=0, hidden_steps=0, idle_steps=0, best_worst=torch.inf)
    state = assess(oracle, state, tolerance)
    return state._replace(best_worst=state.worst)


def assess(oracle: Oracle, state: IDBPDState, tolerance: float, strictness: float = STRICTNESS) -> IDBPDState:
    """``state`` with the certificate that its bundle gives."""
    point, bundle = state.point, state.bundle
    if bundle is None or not isinstance(oracle, TermOracle):
        return state._replace(certified=None, bundle_worst=torch.inf)
    certified, worst = best_certificate(
        oracle, point.evaluation, point.values, point.value_errors, bundle, tolerance, strictness
    )
    return state._replace(certified=certified, bundle_worst=worst)


def at_saddle_points(oracle: Oracle, state: IDBPDState, tolerance: float) -> IDBPDState:
    """``state`` with a saddle point of the model as a row of each term that is linear over a box."""
    bundle, here = state.bundle, state.point.evaluation
    restoring = state.phase is Phase.RESTORATION
    if bundle is None:
        return state
    objective, mu = (0.0, 1.0) if restoring else (1.0, state.penalty.mu)
    bundle = with_saddle_points(bundle, oracle, here, state.in_metric.metric.apply, objective, mu, state.t)
    if bundle is None:
        return state
    # They belong to the model without margins.
    return assess(oracle, state._replace(bundle=bundle, margin=torch.zeros_like(state.margin)), tolerance)


def may_forget_rows(state: IDBPDState) -> bool:
    """Whether rows that leave no descent, and give no certificate either, may be forgotten: near the end, not forever.

    There a residual r changes f by about r^2, and rounding hides that.
    """
    point = state.point
    hidden = point.worst <= torch.finfo(point.evaluation.x.dtype).eps ** 0.5 * (1 + abs(point.f))
    return hidden and state.bundle is not None and state.certified is None and state.hidden_steps < _HIDDEN_STEPS


def without_further_rows(state: IDBPDState) -> IDBPDState:
    """``state`` with one row per term, as a step whose gain rounding hides.

    In float32 the gradients at a worst case here and at one that has moved may cancel, although neither is small.
    """
    return state._replace(bundle=None, bundle_worst=torch.inf, speculative=None, hidden_steps=state.hidden_steps + 1)


def has_no_descent(oracle: Oracle, state: IDBPDState, tolerance: float) -> bool:
    """Whether the violation is stationary at the point."""
    point, evaluation = state.point, state.point.evaluation
    sides, equalities = sides_at(oracle, evaluation.x), evaluation.equalities
    constraints = None if state.bundle is None else state.bundle.constraints()
    values = point.g if constraints is None else constraints.values
    if sides is not None:
        rows = point.gradients.g if constraints is None else constraints.gradients
        return restoration.has_no_descent_within(values, rows, sides, equalities, tolerance)
    gram = point.gram[1:, 1:] if constraints is None else read(constraints.gram)[0]
    return restoration.has_no_descent(values, gram, equalities, tolerance)


def when_hopeless(state: IDBPDState) -> IDBPDState:
    """What to do at an infeasible point where no penalty seems enough."""
    if state.penalty.is_patient:
        return begin_restoration(state)
    # Before the objective is given up: with a small penalty, both may fall together.
    patient = state.penalty._replace(mu=0.0, is_patient=True, milestone=torch.inf)
    return reset_metric(state)._replace(penalty=patient)


def leave_infeasible(oracle: Oracle, state: IDBPDState) -> IDBPDState:
    """What to do at an infeasible point from which no search makes progress."""
    return displace(oracle, state) if state.phase is Phase.RESTORATION else begin_restoration(state)


def begin_restoration(state: IDBPDState) -> IDBPDState:
    """Begin to minimise the violation alone, in a metric of its own."""
    memory = state.restoration._replace(began_with=state.point.violation)
    state = reset_metric(state, restoration.first_scale(state.point, state.initial))
    return state._replace(phase=Phase.RESTORATION, restoration=memory)


def end_restoration(state: IDBPDState) -> IDBPDState:
    """Take the objective up again, with a penalty that is chosen anew."""
    penalty = state.penalty._replace(mu=0.0, is_patient=False)
    return reset_metric(state)._replace(phase=Phase.DESCENT, penalty=penalty)


def displace(oracle: Oracle, state: IDBPDState) -> IDBPDState:
    """Leave at random a point where the violation has no descent, or say that the constraints cannot be met."""
    memory, now = state.restoration, state.point.violation
    count = 0 if now < memory.least_violation * (1 - 1e-6) else memory.displacements
    least = min(now, memory.least_violation)
    if count >= restoration.ATTEMPTS:
        reason = f"the violation {least:.3e} cannot be reduced near this point"
        return state._replace(verdict=Verdict(Status.INFEASIBLE, reason))
    here = state.point.evaluation
    x, bounds = restoration.displaced(here.x, count), bounds_of(oracle)
    x = x if bounds is None else bounds.project(x)
    there = visit(oracle, x, here.maximisers, state.point.host_multipliers, state.initial).point
    if there.worst < torch.inf:
        state = state._replace(point=there, bundle=None, certified=None, bundle_worst=torch.inf, refused=0)
    memory = memory._replace(least_violation=least, displacements=count + 1)
    return reset_metric(state, restoration.first_scale(state.point, state.initial))._replace(restoration=memory)
