"""The search along the arc of a model for a point where the merit function is enough smaller."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.model import Model, Proposal, violation
from idbpd.optim.oracle import Evaluation, Oracle
from idbpd.optim.penalty import Merit

_SUFFICIENT = 1e-4
_SHORTEST = 1e-14
_CREDIT = 4.0


class Found(NamedTuple):
    """The accepted point and the proposal that led to it, or None when no length of step was accepted."""

    evaluation: Evaluation | None
    proposal: Proposal | None
    unbounded: bool = False


def search(
    oracle: Oracle,
    here: Evaluation,
    values: tuple[float, Tensor],
    model: Model,
    merit: Merit,
    doubt: float,
    t: float,
) -> Found:
    """Shorten the arc from ``t`` on until the merit function falls by a fair share of what the model says, up to ``doubt``.

    A trial value that is not finite only shortens the arc. When the curvature of a constraint spoils the first trial, a second-order
    correction (the model with the constraints' values at the trial) comes first.
    """
    f, g = values
    start = merit.at(f, g)
    first = True
    while t >= _SHORTEST:
        proposal = model.propose(t, merit.penalty)
        step = model.direction(proposal)
        trial = here.x + step
        if not proposal.reduction > 0 or bool((trial == here.x).all()):
            return Found(None, None)
        evaluation = oracle.evaluate(trial, here.maximisers)
        f_new, g_new = _values(evaluation)
        # A step into the infeasible is not credited with more than it promised: an objective unbounded below
        # would outbid any penalty.
        if violation(g_new) > max(violation(g), proposal.violation):
            f_new = max(f_new, f + _CREDIT * proposal.slope)
        new = merit.at(f_new, g_new)
        if math.isfinite(new) and bool(g_new.isfinite().all()):
            if start - new >= _SUFFICIENT * proposal.reduction - doubt:
                return Found(evaluation, proposal)
            if first and violation(g_new) > proposal.violation and bool((proposal.multipliers > 0).any()):
                change = -t * (model.gram @ proposal.weights)[1:]
                corrected = model.propose(t, merit.penalty, g_new - change)
                again = oracle.evaluate(here.x + model.direction(corrected), here.maximisers)
                f_again, g_again = _values(again)
                if violation(g_again) > max(violation(g), proposal.violation):
                    f_again = max(f_again, f + _CREDIT * proposal.slope)
                if start - merit.at(f_again, g_again) >= _SUFFICIENT * proposal.reduction - doubt:
                    return Found(again, corrected)
            # The minimiser of the parabola through the start, with the model's slope, and the trial.
            linear = proposal.slope + merit.penalty * (proposal.violation - violation(g))
            excess = new - start - linear
            shrink = -linear / (2 * excess) if excess > 0 else 0.5
            t *= min(max(shrink, 0.01), 0.5)
        else:
            t *= 0.2
        first = False
    return Found(None, None)


def _values(evaluation: Evaluation) -> tuple[float, Tensor]:
    """The values on the host: the one wait for the device that an evaluation costs."""
    f, *g = torch.cat([evaluation.f.reshape(1), evaluation.g]).tolist()
    return f, torch.tensor(g, dtype=torch.float64)
