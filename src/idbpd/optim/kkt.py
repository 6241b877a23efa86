"""How far a point is from satisfying the KKT conditions, and the multipliers that say it best."""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.bounds import Sides, settled
from idbpd.optim.device_reads import read
from idbpd.optim.oracle import Gradients, sizes
from idbpd.optim.qp.active_set import minimise_signed


class KKT(NamedTuple):
    """The three residuals of the KKT conditions at one point. All three must be small at once to mean anything.

    Where several worst cases certify the point, grad f is sum_j a_j grad phi(x, y_j) with sum_j a_j = 1, each lambda_i
    grad g_i likewise sum_j lambda_ij grad psi_i(x, w_ij), and slackness has all |lambda_ij psi_i(x, w_ij)| and
    a_j (f - phi(x, y_j)) as well: only what attains the maximum may carry weight.
    """

    stationarity: float  # ||grad f + sum_i lambda_i grad g_i||, without what the bounds on x hold
    infeasibility: float  # max_i [g_i]_+, and |h_j| of the equalities
    slackness: float  # max_i |lambda_i g_i|

    @property
    def worst(self) -> float:
        """The largest of the three: the point is a ``worst``-KKT point."""
        return max(self)


class Residuals(NamedTuple):
    """The same three numbers while a run goes on: float64 scalars on the device, recorded without a wait."""

    stationarity: Tensor
    infeasibility: Tensor
    slackness: Tensor

    @property
    def worst(self) -> Tensor:
        """The largest of the three; NaN when any is."""
        return torch.stack(tuple(self)).amax()

    def measured(self) -> KKT:
        """The numbers on the host; what is not finite counts as infinitely bad."""
        (numbers,) = read(torch.stack(tuple(self)).nan_to_num(torch.inf, torch.inf, torch.inf))
        return KKT(*numbers.tolist())


def residuals(
    g: Tensor, gradients: Gradients, multipliers: Tensor, equalities: int = 0, sides: Sides | None = None
) -> Residuals:
    """The KKT residuals of a point with constraint values ``g`` and ``multipliers``, both float64; without a wait.

    The last ``equalities`` of g shall be zero: their multipliers have either sign, and there is nothing slack about
    them. ``sides`` says which variables are at bounds.
    """
    lagrangian = lagrangian_gradient(gradients, multipliers)
    stationarity = torch.linalg.vector_norm(lagrangian if sides is None else sides.left(lagrangian))
    none = stationarity.new_zeros(())
    if g.numel() == 0:
        return Residuals(stationarity, none, none)
    c = g.numel() - equalities
    slackness = (multipliers * g)[:c].abs().amax() if c else none
    return Residuals(stationarity, sizes(g, equalities).clamp(min=0).amax(), slackness)


def lagrangian_gradient(gradients: Gradients, multipliers: Tensor) -> Tensor:
    """The gradient of f + sum_i lambda_i g_i, in float64: what is left of large gradients that cancel must not be the
    rounding of their sum.
    """
    return gradients.f.to(torch.float64) + multipliers @ gradients.g.to(torch.float64)


def best_multipliers(g: Tensor, gradients: Gradients, equalities: int = 0, sides: Sides | None = None) -> Tensor:
    """The multipliers with the least ||grad f + sum_i lambda_i grad g_i||^2 + sum_i (lambda_i g_i)^2, non-negative but
    for those of the last ``equalities``, which have no second term.

    The second term is the slackness residual: it keeps the multiplier of a clearly inactive constraint at zero.
    float64, on g's device.
    """
    if g.numel() == 0:
        return g.new_zeros(0)
    f, G, slack = gradients.f.to(torch.float64), gradients.g.to(torch.float64), slack_of(g, equalities)
    if g.numel() == 1 and equalities == 0 and sides is None:
        # The closed form needs no host. Where the gradient vanishes and g = 0, every multiplier is as good; take none.
        curvature, slope = (G @ G.T + torch.diag(slack)).reshape(1), G @ f
        return torch.where((curvature > 0) & (slope < 0), -slope / curvature, 0.0)

    def solve(f: Tensor, G: Tensor) -> Tensor:
        return minimise_signed((G @ G.T + torch.diag(slack)).cpu(), (G @ f).cpu(), equalities)

    if sides is None:
        return solve(f, G).to(g.device)
    rows = torch.cat([f.unsqueeze(0), G])
    found = settled(rows, sides, lambda left: torch.cat([slack.new_ones(1).cpu(), solve(left[0], left[1:])]))
    return found[1:].to(g.device)


def slack_of(g: Tensor, equalities: int) -> Tensor:
    """The squares of the constraints, as they count in slackness."""
    slack = g.square()
    if equalities:
        slack[g.numel() - equalities :] = 0.0
    return slack
