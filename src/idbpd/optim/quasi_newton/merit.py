"""The merit function a f + mu max_i [g_i]_+: how large mu must be, and how far its values can be trusted."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number
from idbpd.optim.oracle import Evaluation, Gradients
from idbpd.optim.quasi_newton.penalty_model import Model, violation

LARGEST = 1e10
# Of a patient choice: the first penalty, in units of the ratio of the gradients, and what a step must remove.
_PATIENT_FIRST, _FAIR_SHARE = 3.0, 0.3


class Merit(NamedTuple):
    """What a search wants to become smaller."""

    objective: float  # a: 1, or 0 when only the violation is minimised
    penalty: float  # mu
    doubts: Sequence[float]  # about f and each g_i, see `doubts`

    def at(self, f: float, g: Tensor) -> float:
        """The value at a point with these values."""
        return self.objective * f + self.penalty * self._violation(g)

    def noise(self, g: Tensor) -> float:
        """By how much values near a point with the constraints ``g`` may differ without meaning anything."""
        noise = self.objective * self.doubts[0]
        return noise + self.penalty * max(self.doubts[1:]) if self._violation(g) > 0 else noise

    def _violation(self, g: Tensor) -> float:
        """What of a violation is not rounding, of which a large mu would make a wall."""
        return violation(g - torch.tensor(self.doubts[1:], dtype=torch.float64))


def doubts(evaluation: Evaluation, gradients: Gradients) -> Tensor:
    """By how much f and each g_i may be wrong, (1 + c,): by rounding and by the error of the inner maxima.

    A value near zero may still be the difference of large numbers; what rounding x alone does to it, sum_j |x_j grad_j|
    eps, bounds the rounding from below, and costs nothing to know.
    """
    x = evaluation.x
    eps = torch.finfo(x.dtype).eps
    values = torch.cat([evaluation.f.reshape(1), evaluation.g]).abs()
    sway = torch.cat([gradients.f.unsqueeze(0), gradients.g]).abs() @ x.abs()
    return eps * (values + sway.to(torch.float64)) + evaluation.error.nan_to_num(0, 0, 0)


def steer(
    model: Model, penalty: float, tolerance: float, *, struggling: bool = False, patient: bool = False
) -> tuple[float, bool]:
    """The penalty parameter for the next step, and whether no reasonable one makes the step reduce the violation.

    It is raised only when the step would leave most of the violation that a step could remove, at most tenfold at a
    time, and lowered when it is far beyond need at a feasible point, where the merit function does not depend on it.
    A ``patient`` choice begins lower and leaves it as it is while the step removes a fair share of what one of the same
    length could: the violation falls more slowly, but the objective has its say meanwhile.
    """
    if model.g.numel() == 0:
        return 0.0, False
    now = violation(model.g)
    steepest = number(model.gram[1:, 1:].diagonal().amax())
    natural = (number(model.gram[0, 0]) / steepest) ** 0.5 if steepest > 0 else 0.0
    needed = number(model.propose(1.0, LARGEST).multipliers.sum())
    if penalty == 0:
        most = (_PATIENT_FIRST if patient else 1e3) * max(natural, 1.0)
        return max(min(1.5 * needed, most), natural, 1e-3), False
    if now <= tolerance and penalty > 1e3 * max(needed, 1e-3 * natural):
        return penalty / 10, False
    proposal = model.propose(1.0, penalty)
    if number(proposal.multipliers.sum()) < penalty * (1 - 1e-9) or proposal.violation <= 0.1 * now:
        return penalty, False
    length = max(number(proposal.weights @ model.gram @ proposal.weights), 0.0) ** 0.5
    if patient and now - proposal.violation >= _FAIR_SHARE * min(now, length * steepest**0.5):
        return penalty, False
    raised = min(1.5 * needed, 10 * penalty)
    return max(raised, penalty), raised >= (1e3 * max(natural, 1.0) if struggling else LARGEST)
