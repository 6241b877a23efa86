"""The search along the arc of a model for a point where the merit function is enough smaller."""

import math
from typing import NamedTuple

from torch import Tensor

from idbpd.optim.device_reads import number, read, truth
from idbpd.optim.oracle import Evaluation, Maximisers, Oracle, attempt, complete
from idbpd.optim.quasi_newton.merit import Merit
from idbpd.optim.quasi_newton.penalty_model import Model, Proposal, violation
from idbpd.optim.quasi_newton.speculative_trial import Ahead

_SUFFICIENT = 1e-4  # share of the model's reduction that must be real
_SHORTEST = 1e-14
_CREDIT = 4.0
_DOUBTFUL = 30.0


class Found(NamedTuple):
    """Where a search ended."""

    evaluation: Evaluation
    proposal: Proposal
    g: Tensor  # the constraints there, on the host
    refused: int  # how many trials were not good enough
    beyond: Maximisers | None  # the worst cases at the last of them


class Unbounded(NamedTuple):
    """The objective has no lower bound along the arc."""


def search(
    oracle: Oracle,
    here: Evaluation,
    values: tuple[float, Tensor],
    model: Model,
    merit: Merit,
    *,
    doubt: float,
    t: float,
    ahead: Ahead | None = None,
) -> Found | Unbounded | None:
    """Shorten the arc from ``t`` on until the merit function falls by a fair share of what the model says, up to
    ``doubt``.

    A trial value that is not finite only shortens the arc. When the curvature of a constraint spoils the first trial
    (the effect of Maratos), a second-order correction comes first: the model with the constraints' values at the trial.
    A first trial that was evaluated ``ahead`` is not evaluated again. None when no length will do.
    """
    f, g = values
    start = merit.at(f, g)
    refused, beyond = 0, None
    while t >= _SHORTEST:
        proposal = model.propose(t, merit.penalty)
        if not proposal.reduction > 0:
            break
        if ahead is not None and ahead.is_trial(proposal):
            evaluation, f_new, g_new, moved = ahead.evaluation, ahead.f, ahead.g, ahead.moved
            if ahead.is_open and moved:
                evaluation, f_new, g_new = _completed(oracle, evaluation, here)
        else:
            evaluation, f_new, g_new, moved = _tried(oracle, here.x + model.direction(proposal), here)
        if not moved:
            break
        if f_new == -math.inf and merit.objective > 0 and truth((g_new <= 0).all()):
            return Unbounded()
        new = _credited(merit, proposal, values, f_new, g_new)
        if start - new >= _SUFFICIENT * proposal.reduction - doubt:
            return Found(evaluation, proposal, g_new, refused, beyond)
        if start - new >= -_DOUBTFUL * doubt and proposal.reduction <= _DOUBTFUL * doubt:
            # Rounding hides whether the point is better. Shorter steps would not show it either: trust the model.
            return Found(evaluation, proposal, g_new, refused, beyond)
        if (
            refused == 0
            and math.isfinite(new)
            and violation(g_new) > proposal.violation
            and number(proposal.multipliers.sum()) > 0
        ):
            corrected = model.propose(t, merit.penalty, g_new - proposal.change)
            again, f_again, g_again, _ = _tried(oracle, here.x + model.direction(corrected), here)
            gained = start - _credited(merit, proposal, values, f_again, g_again)
            if gained >= _SUFFICIENT * proposal.reduction - doubt:
                return Found(again, corrected, g_again, 1, evaluation.maximisers)
        t *= _shrinkage(new - start, proposal.slope + merit.penalty * (proposal.violation - violation(g)))
        refused += 1
        if math.isfinite(new):
            beyond = evaluation.maximisers
    return None


def _tried(oracle: Oracle, x: Tensor, here: Evaluation) -> tuple[Evaluation, float, Tensor, bool]:
    """A trial, its values, and whether it differs from ``here`` at all in this precision: one wait for all, unless the
    inner maxima want more.
    """
    evaluation = attempt(oracle, x, here.maximisers)
    f, g, error, moved = read(evaluation.f, evaluation.g, evaluation.error, (x != here.x).any())
    if truth(error.isinf().any()) and truth(moved):
        return *_completed(oracle, evaluation, here), True
    return evaluation, number(f), g, truth(moved)


def _completed(oracle: Oracle, evaluation: Evaluation, here: Evaluation) -> tuple[Evaluation, float, Tensor]:
    """A trial that could not be evaluated without waiting, and its values."""
    evaluation = complete(oracle, evaluation, here.maximisers)
    f, g = read(evaluation.f, evaluation.g)
    return evaluation, number(f), g


def _credited(merit: Merit, proposal: Proposal, values: tuple[float, Tensor], f_new: float, g_new: Tensor) -> float:
    """The merit of a trial, infinite where it has none.

    A step that makes the violation worse is not credited with more than a few times the fall of f that it promised: an
    objective that falls faster and faster in the infeasible would outbid any penalty.
    """
    f, g = values
    if not (math.isfinite(f_new) and truth(g_new.isfinite().all())):
        return math.inf
    if violation(g_new) > max(violation(g), proposal.violation):
        f_new = max(f_new, f + _CREDIT * proposal.slope)
    return merit.at(f_new, g_new)


def _shrinkage(rise: float, slope: float) -> float:
    """By how much to shorten: to the minimiser of the parabola with the model's slope through the trial, in bounds."""
    if rise == math.inf:
        return 0.2
    excess = rise - slope
    return min(max(-slope / (2 * excess), 0.01), 0.5) if excess > 0 else 0.5
