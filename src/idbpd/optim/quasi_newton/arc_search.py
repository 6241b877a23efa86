"""The search along the arc of a model for a point where the merit function has sufficiently decreased."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.kinks.bundle import Bundle, RefusedTrial, bundle_at
from idbpd.optim.kinks.peaks import moved_points
from idbpd.optim.oracle import Evaluation, Maximisers, Oracle, TermOracle, attempt, complete
from idbpd.optim.quasi_newton.merit import Merit
from idbpd.optim.quasi_newton.penalty_model import PenaltyModel, Proposal, violation
from idbpd.optim.quasi_newton.point import EvaluatedPoint
from idbpd.optim.quasi_newton.speculative_trial import SpeculativeTrial

_SUFFICIENT = 1e-4  # share of the model's reduction that must be real (Armijo): the usual one, almost any will do
_SHORTEST = 1e-14  # length of arc: a step that is shorter does not move x beyond its rounding
# Times the promised fall of f that a step into the infeasible is credited with: curvature may well double a fall.
_CREDIT = 4.0
# Times the noise of the merit function below which rounding hides a change: the noise is an estimate of one rounding,
# and a sum over samples has many.
_HIDDEN = 30.0


class Found(NamedTuple):
    """Where a search ended."""

    evaluation: Evaluation
    proposal: Proposal
    f: float
    g: Tensor  # the constraints there, on the host
    refused: int  # how many trials were not good enough


class MissingRow(NamedTuple):
    """A refused trial has shown a worst case that the model did not know."""

    bundle: Bundle  # with it
    t: float  # of the trial


class Unbounded(NamedTuple):
    """The objective has no lower bound along the arc."""


class Start(NamedTuple):
    """Where a search begins."""

    point: EvaluatedPoint
    bundle: Bundle | None  # the worst cases there, where the model has more than one row per term
    model: PenaltyModel
    merit: Merit
    refused: int  # trials refused lately
    speculative: SpeculativeTrial | None  # the first trial, where it was made already


class _Trial(NamedTuple):
    evaluation: Evaluation
    f: float
    g: Tensor
    moved: bool  # whether it differs from the start of the arc at all in this precision


def search(oracle: Oracle, start: Start, t: float) -> Found | MissingRow | Unbounded | None:
    """Shorten the arc from ``t`` on until the merit function falls by a share of what the model says, up to its noise.

    A trial value that is not finite only shortens the arc. When curvature spoils the first trial (the Maratos effect),
    a second-order correction comes first: the model with the rows' values at the trial. From the second refusal in a
    row on, a worst case that the model did not know ends the search. None when no length will do.
    """
    point, model, merit = start.point, start.model, start.merit
    before, noise = merit.at(point.f, point.g), merit.noise(point.g)
    refused = 0
    while t >= _SHORTEST:
        proposal = model.propose(t, merit.penalty)
        if not proposal.reduction > 0:
            break
        trial = _trial(oracle, start, proposal)
        if not trial.moved:
            break
        if trial.f == -math.inf and merit.objective > 0 and violation(trial.g, merit.equalities) == 0:
            return Unbounded()
        new = _trial_merit(merit, proposal, point, trial)
        enough = _SUFFICIENT * proposal.reduction - noise
        # Where rounding hides whether the point is better, shorter steps would not show it either: trust the model.
        is_hidden = before - new >= -_HIDDEN * noise and proposal.reduction <= _HIDDEN * noise
        if before - new >= enough or is_hidden:
            return Found(trial.evaluation, proposal, trial.f, trial.g, refused)
        if math.isfinite(new):
            if start.bundle is not None or refused + start.refused > 0:
                bundle = _with_rows_shown(oracle, start, proposal, trial)
                if bundle is not None:
                    return MissingRow(bundle, t)
            corrected = _corrected(oracle, start, proposal, trial) if refused == 0 else None
            if corrected is not None:
                again = _trial(oracle, start, corrected)
                if before - _trial_merit(merit, proposal, point, again) >= enough:
                    return Found(again.evaluation, corrected, again.f, again.g, 1)
        t *= _shrinkage(new - before, proposal.slope + merit.penalty * (proposal.violation - point.violation))
        refused += 1
    return None


def _trial(oracle: Oracle, start: Start, proposal: Proposal) -> _Trial:
    """The trial that a proposal asks for; the speculative one, if that is it.

    One wait for all its numbers, unless the inner maxima want more. They are looked for from the worst cases that the
    model expects there.
    """
    here, bundle, speculative = start.point.evaluation, start.bundle, start.speculative
    if speculative is not None and speculative.is_trial(proposal):
        trial = _Trial(speculative.evaluation, speculative.f, speculative.g, speculative.moved)
        return _completed(oracle, trial, here.maximisers) if speculative.is_open and trial.moved else trial
    warm = here.maximisers if bundle is None else bundle.best(bundle.values + proposal.change, here.maximisers)
    x = start.model.moved(here.x, proposal)
    evaluation = attempt(oracle, x, warm)
    f, g, error, moved = read(evaluation.f, evaluation.g, evaluation.error, (x != here.x).any())
    trial = _Trial(evaluation, number(f), g, truth(moved))
    return _completed(oracle, trial, warm) if truth(error.isinf().any()) and trial.moved else trial


def _completed(oracle: Oracle, trial: _Trial, warm: Maximisers) -> _Trial:
    """A trial that could not be evaluated without waiting, with its values."""
    evaluation = complete(oracle, trial.evaluation, warm)
    f, g = read(evaluation.f, evaluation.g)
    return _Trial(evaluation, number(f), g, trial.moved)


def _with_rows_shown(oracle: Oracle, start: Start, proposal: Proposal, trial: _Trial) -> Bundle | None:
    """The bundle with the worst cases of a refused trial that explain the refusal; None where none does."""
    if not isinstance(oracle, TermOracle):
        return None
    point, model = start.point, start.model
    foreseen = model.foreseen_change(proposal, point.g)
    values = point.values
    missed = torch.cat([values.new_tensor([trial.f]), trial.g]) - values - foreseen
    missed[0] *= model.objective
    d = trial.evaluation.x - point.evaluation.x
    known = bundle_at(point.evaluation, values, point.gradients) if start.bundle is None else start.bundle
    refused = RefusedTrial(trial.evaluation.maximisers, d, values, foreseen, missed)
    return known.grown(oracle, point.evaluation.x, refused)


def _corrected(oracle: Oracle, start: Start, proposal: Proposal, trial: _Trial) -> Proposal | None:
    """The step with the curvature that a refused trial has shown; None where it has shown none that matters."""
    bundle, model = start.bundle, start.model
    violated = violation(trial.g, model.equalities)
    is_spoilt = violated > proposal.violation and number(proposal.multipliers.abs().sum()) > 0
    if not (is_spoilt or model.objective_rows > 1):
        return None
    if bundle is None:
        values = torch.cat([trial.g.new_zeros(1), trial.g])  # one row of the objective: its value changes nothing
    else:
        assert isinstance(oracle, TermOracle)
        there = trial.evaluation.x
        (values,) = read(oracle.term_values(there, bundle.terms, moved_points(bundle, oracle, there)))
        if not truth(values.isfinite().all()):
            return None
        values[: model.objective_rows] -= start.point.f
    return model.propose(proposal.t, start.merit.penalty, values - proposal.change)


def _trial_merit(merit: Merit, proposal: Proposal, point: EvaluatedPoint, trial: _Trial) -> float:
    """The merit of a trial, infinite where it has none.

    A step that makes the violation worse is not credited with more than a few times the fall of f that it promised: an
    objective that falls faster and faster in the infeasible would outbid any penalty.
    """
    f = trial.f
    if not (math.isfinite(f) and truth(trial.g.isfinite().all())):
        return math.inf
    if violation(trial.g, merit.equalities) > max(point.violation, proposal.violation):
        f = max(f, point.f + _CREDIT * proposal.slope)
    return merit.at(f, trial.g)


def _shrinkage(rise: float, slope: float) -> float:
    """By how much to shorten: to the minimiser of the parabola with the model's slope through the trial, in bounds."""
    if rise == math.inf:
        return 0.2
    excess = rise - slope
    return min(max(-slope / (2 * excess), 0.01), 0.5) if excess > 0 else 0.5
