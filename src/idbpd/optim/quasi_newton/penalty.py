"""The penalty parameter mu of the merit function, and how it is chosen from step to step."""

from typing import NamedTuple

import torch
from torch.nn.functional import softshrink

from idbpd.optim.device_reads import number
from idbpd.optim.quasi_newton.merit import LARGEST
from idbpd.optim.quasi_newton.penalty_model import PenaltyModel
from idbpd.optim.quasi_newton.point import EvaluatedPoint

# Of a patient choice: the first penalty, in units of the ratio of the gradients, so that f and the violation fall
# together; and the share of what it could remove that a step must remove.
_PATIENT_FIRST, _FAIR_SHARE = 3.0, 0.3
# A violation that has not fallen to this share in so many steps is stagnant: patience ends. As many steps as L-BFGS
# has pairs: by then it has learnt what there is to learn.
_NOTICEABLE, _STAGNATION = 0.9, 50
# Share of the worst residual that a violation may be without having to fall first. With a limit at the least
# value that its term has (CHD49, paper's setting) the gradients of the constraint vanish with the violation. Without
# this mu rose to 1e4, although the multiplier at the solution is 0, and the run crept along the limit: a residual of
# 0.24 after 3133 evaluations, where it is now 1e-3 after 307. With 0.1, a problem of the bank is not solved.
_LEEWAY = 0.03
# How often mu may fall at a point with a violation; then there is no leeway any more. Where stationarity is slow to
# come (a Kullback-Leibler ball), mu fell and rose again for 3000 steps. The networks above needed 15 falls at most.
_FALLS = 20


class Penalty(NamedTuple):
    """mu, and what its choice remembers."""

    mu: float = 0.0  # 0 before it is first chosen
    is_patient: bool = False  # whether no penalty seemed enough before, so that now the objective has its say too
    milestone: float = torch.inf  # the violation when it had last fallen noticeably
    since_milestone: int = 0  # steps since then
    falls: int = 0  # how often mu fell at a point with a violation

    def after_step(self, violation: float) -> "Penalty":
        """With the violation at the next point remembered."""
        if violation <= _NOTICEABLE * self.milestone:
            return self._replace(milestone=violation, since_milestone=0)
        return self._replace(since_milestone=self.since_milestone + 1)

    def changed(self, mu: float, *, is_violated: bool) -> "Penalty":
        """With another mu."""
        return self._replace(mu=mu, falls=self.falls + (is_violated and mu < self.mu))


def leeway(point: EvaluatedPoint, penalty: Penalty) -> float:
    """The violation that may wait at a point, because it is far less than what else is missing to a KKT point.

    Both fall together, and so does the slackness, the product with the multipliers. It is for models with one row per
    term: where the worst case jumps, the residuals of one row per term do not fall, and a cusp held a run for ever.
    """
    if penalty.falls >= _FALLS:
        return 0.0
    return _LEEWAY * point.worst / (1 + number(point.host_multipliers.abs().sum()))


def choose_penalty(
    model: PenaltyModel, penalty: Penalty, tolerance: float, allowed: float = 0.0, *, steps_are_short: bool = False
) -> tuple[float, bool]:
    """Mu for the next step, and whether no reasonable mu makes the step reduce the violation.

    It is raised only when the step would leave most of the violation that a step could remove, at most tenfold at a
    time and no further than it takes to get below the ``allowed`` violation, and lowered when it is far beyond need at
    a point that is below it.
    A patient choice begins lower and leaves mu as it is while the step removes a fair share of what one of the same
    length could: the violation falls more slowly, but the objective has its say meanwhile.
    """
    if model.g.numel() == 0:
        return 0.0, False
    mu, is_patient = penalty.mu, penalty.is_patient and penalty.since_milestone <= _STAGNATION
    now = model.violation
    squares = model.gram.diagonal()
    steepest = number(squares[model.objective_rows :].amax())
    natural = (number(squares[0]) / steepest) ** 0.5 if steepest > 0 else 0.0
    relaxed = _relaxed(model, allowed) if allowed > 0 else None
    needed = number(model.propose(1.0, LARGEST, relaxed).multipliers.abs().sum())
    if mu == 0:
        most = (_PATIENT_FIRST if is_patient else 1e3) * max(natural, 1.0)
        return max(min(1.5 * needed, most), natural, 1e-3), False
    if now <= max(tolerance, allowed) and mu > 1e3 * max(needed, 1e-3 * natural):
        return mu / 10, False
    proposal = model.propose(1.0, mu)
    if number(proposal.multipliers.abs().sum()) < mu * (1 - 1e-9) or proposal.violation <= 0.1 * now:
        return mu, False
    length = max(number(proposal.weights @ model.gram @ proposal.weights), 0.0) ** 0.5
    if is_patient and now - proposal.violation >= _FAIR_SHARE * min(now, length * steepest**0.5):
        return mu, False
    raised = min(1.5 * needed, 10 * mu)
    return max(raised, mu), raised >= (1e3 * max(natural, 1.0) if steps_are_short else LARGEST)


def _relaxed(model: PenaltyModel, allowed: float) -> torch.Tensor:
    """The values of the rows where this much violation counts as none."""
    relaxed = model.values.clone()
    relaxed[model.objective_rows :] -= allowed
    equalities = slice(relaxed.numel() - model.equalities, None)
    relaxed[equalities] = softshrink(model.values[equalities], allowed)
    return relaxed
