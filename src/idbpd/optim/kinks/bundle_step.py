"""One step of the bundle phase: the worst case is not unique, and the step sees several of them at once.

The model of a step is the maximum of the linearised terms at all remembered worst cases (`bundle`), in a quasi-Newton
metric of their Lagrangian:

    min_d  max_j (phi_j + <grad phi_j, d>) + mu max_ij [psi_ij + <grad psi_ij, d>]_+ + 1/(2t) <d, H^{-1} d>

Each trial is judged by the true worst-case values there. One that is refused has shown worst cases that were missing:
they are added, and the model is minimised again. This is a bundle method whose bundle has the functions themselves, not
old linearisations of them. Where the worst cases do not move with x, it is sequential quadratic programming on the
finite problem that they form.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.kinks.bundle import Bundle
from idbpd.optim.kinks.certificate import Certificate, certify, merge_worst_cases, values_of, violation_stationarity
from idbpd.optim.method import Iterate
from idbpd.optim.oracle import Evaluation, Gradients, TermOracle
from idbpd.optim.qp.active_set import minimise_on_simplices
from idbpd.optim.quasi_newton.arc_search import HIDDEN
from idbpd.optim.quasi_newton.lbfgs import Metric, Step, identity, learn_pair
from idbpd.optim.quasi_newton.merit import LARGEST, Merit, value_errors
from idbpd.optim.quasi_newton.penalty_model import violation

_SUFFICIENT = 1e-3  # share of the model's reduction that must be real; the usual value of bundle methods is 0.1 to 1e-4
_SHORTEST = 1e-12  # length of arc
_IDLE = 10  # steps without weight after which a worst case is forgotten
_PATIENCE = 40  # steps without a clearly better residual before the phase gives up
# How much the gap of a worst case to the maximum counts in a certificate. A worst case that misses it by eps may
# be sqrt(eps) away from one that attains it, so what carries weight should miss it by much less than the tolerance.
_STRICTNESS = 1e3


class BundleState(NamedTuple):
    """Where the bundle phase is."""

    iterate: Iterate
    values: Tensor  # (1 + c,) on the host: f and every g
    bundle: Bundle
    metric: Metric
    penalty: float
    t: float
    refused: int  # trials refused in a row
    best: float  # the best residual so far
    patience: int  # steps since it was found
    over: bool  # whether the phase has nothing more to offer
    stuck: bool  # whether the violation has no descent here
    following: bool = False  # whether worst cases that move are followed, each by one row, instead of remembered


class _Proposal(NamedTuple):
    t: float
    weights: Tensor  # (rows,)
    change: Tensor  # (rows,) <grad, d>
    d: Tensor
    violation: float
    reduction: float


def begin(oracle: TermOracle, here: Evaluation, bundle: Bundle, penalty: float, tolerance: float) -> BundleState:
    """Begin at an evaluated point with the worst cases ``bundle`` there."""
    bundle, _ = bundle.with_points(oracle, here.x, [here.maximisers])
    values = bundle.raised(values_of(here))
    iterate, weights = certify(here, values, bundle, _STRICTNESS)
    needed = 1.5 * (number(weights.sum().reshape(1)) - 1.0)
    state = BundleState(
        iterate=iterate,
        values=values,
        bundle=bundle,
        metric=identity(here.x),
        penalty=max(penalty, needed),
        t=1.0,
        refused=0,
        best=math.inf,
        patience=0,
        over=False,
        stuck=False,
    )
    return _judged(oracle, state, here, tolerance)


def step(oracle: TermOracle, state: BundleState, tolerance: float, memory: int) -> BundleState:
    """Minimise the model and go there, or learn from the refusal."""
    penalty, proposal = _steered(state, tolerance)
    here, values = state.iterate.evaluation, state.values
    state = state._replace(penalty=penalty, bundle=state.bundle.aged(proposal.weights))
    if violation(values[1:]) > tolerance and max(violation_stationarity(values, state.bundle)) <= tolerance:
        return state._replace(over=True, stuck=True)
    if not proposal.reduction > 0 or proposal.t < _SHORTEST:
        return _ended(oracle, state, tolerance)
    merit = Merit(1.0, penalty, read(value_errors(here, state.iterate.gradients))[0].tolist())
    noise = merit.noise(values[1:])
    start = merit.at(number(values[0]), values[1:])

    def accepts(trial: Evaluation) -> bool:
        new = values_of(trial)
        if not bool(new.isfinite().all()):
            return False
        gained = start - merit.at(number(new[0]), new[1:])
        hidden = proposal.reduction <= HIDDEN * noise and gained >= -HIDDEN * noise  # trust the model
        return gained >= _SUFFICIENT * proposal.reduction - noise or hidden

    trial = _evaluate(oracle, state, proposal)
    if accepts(trial):
        return _moved(oracle, state, proposal, trial, tolerance, memory)
    bundle, is_new = state.bundle.with_points(oracle, here.x, [trial.maximisers])
    if not is_new:
        # Not a worst case was missing but curvature: a second-order correction, then a shorter step.
        there = state.bundle.at(oracle, trial.x)
        if bool(there.values.isfinite().all()):
            corrected = _propose(state, proposal.t, penalty, there.values - proposal.change)
            again = _evaluate(oracle, state, corrected)
            if accepts(again):
                return _moved(oracle, state, corrected, again, tolerance, memory)
            bundle, is_new = state.bundle.with_points(oracle, here.x, [again.maximisers])
    patient = is_new and state.refused < 3
    state = state._replace(bundle=bundle, refused=state.refused + 1, t=proposal.t * (1.0 if patient else 0.3))
    return _judged(oracle, state, here, tolerance)


def _moved(
    oracle: TermOracle, state: BundleState, proposal: _Proposal, there: Evaluation, tolerance: float, memory: int
) -> BundleState:
    """Go to an accepted trial."""
    old = state.bundle
    bundle = old.at(oracle, there.x)
    (are_finite,) = read(bundle.gradients.isfinite().all())
    if not (truth(are_finite) and truth(bundle.values.isfinite().all())):
        return state._replace(t=0.2 * proposal.t, refused=state.refused + 1)  # the edge of the domain
    rows = list(range(len(bundle.terms)))
    if state.following:
        bundle, rows = bundle.followed(oracle, there)
    weights = proposal.weights.to(old.gradients)
    none = old.gradients[:0]
    before, after = Gradients(weights @ old.gradients, none), Gradients(weights @ bundle.gradients_of(rows), none)
    s = there.x - state.iterate.evaluation.x
    one = torch.ones(1, dtype=torch.float64)
    learnt = learn_pair(state.metric, Step(s, one, proposal.t, before, after), memory)
    metric = learnt.metric if bool(learnt.kept.cpu()) else state.metric
    values = values_of(there)
    if bool((bundle.raised(values) > values + 1e-12 * (1 + values.abs())).any()):
        # A remembered worst case is worse than what was found: the maximisation goes on from there.
        there = oracle.evaluate(there.x, bundle.best(bundle.values, there.maximisers))
    bundle, _ = bundle.with_points(oracle, there.x, [there.maximisers])
    state = state._replace(bundle=bundle, metric=metric, refused=0, t=min(1.0, 8 * proposal.t))
    return _judged(oracle, state, there, tolerance)


def _judged(oracle: TermOracle, state: BundleState, here: Evaluation, tolerance: float) -> BundleState:
    """The certificate of a point or of what was learnt about it, and whether to go on."""
    values = state.bundle.raised(values_of(here))
    bundle, certificate = _certified(oracle, here, values, state.bundle, _STRICTNESS, tolerance)
    iterate, worst = certificate.iterate, _worst(certificate.iterate)
    if worst <= tolerance:
        return state._replace(iterate=merge_worst_cases(oracle, values, bundle, certificate, tolerance), values=values)
    state = state._replace(bundle=bundle, following=state.following or len(bundle.terms) < len(state.bundle.terms))
    highest = set(state.bundle.highest(state.bundle.values).values())
    bundle = state.bundle.kept([row for row, idle in enumerate(state.bundle.idle) if idle <= _IDLE or row in highest])
    patience = 0 if worst < 0.9 * state.best else state.patience + 1
    state = state._replace(
        iterate=iterate, values=values, bundle=bundle, best=min(worst, state.best), patience=patience
    )
    return _ended(oracle, state, tolerance) if patience > _PATIENCE else state


def _ended(oracle: TermOracle, state: BundleState, tolerance: float) -> BundleState:
    """End the phase, with the certificate at its plain definition if that is enough."""
    here, values = state.iterate.evaluation, state.values
    bundle, certificate = _certified(oracle, here, values, state.bundle, 1.0, tolerance)
    if _worst(certificate.iterate) <= tolerance:
        return state._replace(iterate=merge_worst_cases(oracle, values, bundle, certificate, tolerance))
    return state._replace(over=True)


def _certified(
    oracle: TermOracle, here: Evaluation, values: Tensor, bundle: Bundle, strictness: float, tolerance: float
) -> tuple[Bundle, Certificate]:
    """The certificate of a point, and the worst cases that it is made of.

    It counts only if it holds without worst cases that have merely moved: around a unique maximiser, points that miss
    the maximum by eps are sqrt(eps) apart, and a mixture of their gradients may vanish far from a stationary point.
    """
    certificate = certify(here, values, bundle, strictness)
    if _worst(certificate.iterate) > tolerance:
        return bundle, certificate
    used = [row for row, weight in enumerate(certificate.weights.tolist()) if weight > 0]
    bundle = bundle.distinct(oracle, here, used)
    return bundle, certify(here, values, bundle, strictness)


def _steered(state: BundleState, tolerance: float) -> tuple[float, _Proposal]:
    """The step, with a penalty parameter that makes it reduce the violation if any can."""
    penalty, now = max(state.penalty, 1e-3), violation(state.values[1:])
    while True:
        proposal = _propose(state, state.t, penalty, state.bundle.values)
        spent = number(proposal.weights.sum().reshape(1)) - 1.0
        enough = spent < penalty * (1 - 1e-9) or proposal.violation <= 0.1 * now + 0.1 * tolerance
        if enough or penalty >= LARGEST:
            return penalty, proposal
        penalty *= 10


def _propose(state: BundleState, t: float, penalty: float, values: Tensor) -> _Proposal:
    """The minimiser of the model; ``values`` replaces those of the worst cases in a second-order correction."""
    bundle, n = state.bundle, len(state.bundle.terms)
    rows = state.metric.apply(bundle.gradients)
    gram = rows.to(torch.float64) @ bundle.gradients.to(torch.float64).T
    (gram,) = read((gram + gram.T) / 2)
    is_objective = torch.tensor([term == 0 for term in bundle.terms])
    relative = torch.where(is_objective, values - state.values[0], values)
    quadratic, linear = torch.zeros((n + 1, n + 1), dtype=torch.float64), torch.zeros(n + 1, dtype=torch.float64)
    quadratic[:n, :n], linear[:n] = t * gram, -relative
    weights = minimise_on_simplices(quadratic, linear, bundle.groups(penalty))[:n]
    change = -t * gram @ weights
    d = (-t * weights).to(rows) @ rows
    after = violation((relative + change)[~is_objective])
    dual = number((weights @ relative - 0.5 * t * weights @ gram @ weights).reshape(1))
    return _Proposal(t, weights, change, d, after, penalty * violation(state.values[1:]) - dual)


def _evaluate(oracle: TermOracle, state: BundleState, proposal: _Proposal) -> Evaluation:
    """Evaluate a trial, maximising from the worst cases that the model expects there."""
    here = state.iterate.evaluation
    return oracle.evaluate(
        here.x + proposal.d, state.bundle.best(state.bundle.values + proposal.change, here.maximisers)
    )


def _worst(iterate: Iterate) -> float:
    return math.inf if iterate.worst is None else iterate.worst
