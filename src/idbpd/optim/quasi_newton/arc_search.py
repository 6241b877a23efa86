"""The search along the arc of a model for a point where the merit function has sufficiently decreased."""

import math
from typing import NamedTuple

from torch import Tensor

from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.oracle import Evaluation, Maximisers, Oracle, attempt, complete
from idbpd.optim.quasi_newton.merit import Merit
from idbpd.optim.quasi_newton.penalty_model import PenaltyModel, Proposal, violation
from idbpd.optim.quasi_newton.point import EvaluatedPoint
from idbpd.optim.quasi_newton.speculative_trial import SpeculativeTrial

_SUFFICIENT = 1e-4  # share of the model's reduction that must be real (Armijo)
_SHORTEST = 1e-14  # length of arc; shorter ones do not move x
_CREDIT = 4.0  # times the promised fall of f that a step into the infeasible is credited with
HIDDEN = 30.0  # times the noise of the merit function below which rounding hides a change


class Found(NamedTuple):
    """Where a search ended."""

    evaluation: Evaluation
    proposal: Proposal
    g: Tensor  # the constraints there, on the host
    refused: int  # how many trials were not good enough
    beyond: Maximisers | None  # the worst cases at the last of them


class Unbounded(NamedTuple):
    """The objective has no lower bound along the arc."""


class _Trial(NamedTuple):
    evaluation: Evaluation
    f: float
    g: Tensor
    moved: bool  # whether it differs from the start of the arc at all in this precision


def search(
    oracle: Oracle,
    point: EvaluatedPoint,
    model: PenaltyModel,
    merit: Merit,
    *,
    t: float,
    speculative: SpeculativeTrial | None = None,
) -> Found | Unbounded | None:
    """Shorten the arc from ``t`` on until the merit function falls by a share of what the model says, up to its noise.

    A trial value that is not finite only shortens the arc. When the curvature of a constraint spoils the first trial
    (the Maratos effect), a second-order correction comes first: the model with the constraints' values at the trial.
    A first trial that was evaluated speculatively is not evaluated again. None when no length will do.
    """
    start, noise = merit.at(point.f, point.g), merit.noise(point.g)
    refused, beyond = 0, None
    while t >= _SHORTEST:
        proposal = model.propose(t, merit.penalty)
        if not proposal.reduction > 0:
            break
        trial = _trial(oracle, point, model, proposal, speculative)
        if not trial.moved:
            break
        if trial.f == -math.inf and merit.objective > 0 and truth((trial.g <= 0).all()):
            return Unbounded()
        new = _trial_merit(merit, proposal, point, trial)
        if start - new >= _SUFFICIENT * proposal.reduction - noise:
            return Found(trial.evaluation, proposal, trial.g, refused, beyond)
        if start - new >= -HIDDEN * noise and proposal.reduction <= HIDDEN * noise:
            # Rounding hides whether the point is better. Shorter steps would not show it either: trust the model.
            return Found(trial.evaluation, proposal, trial.g, refused, beyond)
        is_spoilt = math.isfinite(new) and violation(trial.g) > proposal.violation
        if refused == 0 and is_spoilt and number(proposal.multipliers.sum()) > 0:
            corrected = model.propose(t, merit.penalty, trial.g - proposal.change)
            again = _evaluated(oracle, point, point.evaluation.x + model.direction(corrected))
            if start - _trial_merit(merit, proposal, point, again) >= _SUFFICIENT * proposal.reduction - noise:
                return Found(again.evaluation, corrected, again.g, 1, trial.evaluation.maximisers)
        t *= _shrinkage(new - start, proposal.slope + merit.penalty * (proposal.violation - violation(point.g)))
        refused += 1
        if math.isfinite(new):
            beyond = trial.evaluation.maximisers
    return None


def _trial(
    oracle: Oracle,
    point: EvaluatedPoint,
    model: PenaltyModel,
    proposal: Proposal,
    speculative: SpeculativeTrial | None,
) -> _Trial:
    """The trial that a proposal asks for; the speculative one, if that is it."""
    if speculative is None or not speculative.is_trial(proposal):
        return _evaluated(oracle, point, point.evaluation.x + model.direction(proposal))
    trial = _Trial(speculative.evaluation, speculative.f, speculative.g, speculative.moved)
    return _completed(oracle, point, trial) if speculative.is_open and trial.moved else trial


def _evaluated(oracle: Oracle, point: EvaluatedPoint, x: Tensor) -> _Trial:
    """A trial at ``x``: one wait for all its numbers, unless the inner maxima want more."""
    here = point.evaluation
    evaluation = attempt(oracle, x, here.maximisers)
    f, g, error, moved = read(evaluation.f, evaluation.g, evaluation.error, (x != here.x).any())
    trial = _Trial(evaluation, number(f), g, truth(moved))
    return _completed(oracle, point, trial) if truth(error.isinf().any()) and trial.moved else trial


def _completed(oracle: Oracle, point: EvaluatedPoint, trial: _Trial) -> _Trial:
    """A trial that could not be evaluated without waiting, with its values."""
    evaluation = complete(oracle, trial.evaluation, point.evaluation.maximisers)
    f, g = read(evaluation.f, evaluation.g)
    return _Trial(evaluation, number(f), g, trial.moved)


def _trial_merit(merit: Merit, proposal: Proposal, point: EvaluatedPoint, trial: _Trial) -> float:
    """The merit of a trial, infinite where it has none.

    A step that makes the violation worse is not credited with more than a few times the fall of f that it promised: an
    objective that falls faster and faster in the infeasible would outbid any penalty.
    """
    f = trial.f
    if not (math.isfinite(f) and truth(trial.g.isfinite().all())):
        return math.inf
    if violation(trial.g) > max(violation(point.g), proposal.violation):
        f = max(f, point.f + _CREDIT * proposal.slope)
    return merit.at(f, trial.g)


def _shrinkage(rise: float, slope: float) -> float:
    """By how much to shorten: to the minimiser of the parabola with the model's slope through the trial, in bounds."""
    if rise == math.inf:
        return 0.2
    excess = rise - slope
    return min(max(-slope / (2 * excess), 0.01), 0.5) if excess > 0 else 0.5
