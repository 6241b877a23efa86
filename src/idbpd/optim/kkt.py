"""How far a point is from satisfying the KKT conditions, and the multipliers that say it best."""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import read
from idbpd.optim.oracle import Gradients
from idbpd.optim.qp.active_set import minimise_on_orthant


class KKT(NamedTuple):
    """The three residuals of the KKT conditions at one point. All three must be small at once to mean anything.

    Where several worst cases certify the point, grad f is sum_j a_j grad phi(x, y_j) with sum_j a_j = 1, each lambda_i
    grad g_i likewise sum_j lambda_ij grad psi_i(x, w_ij), and slackness has all |lambda_ij psi_i(x, w_ij)| and
    a_j (f - phi(x, y_j)) as well: only what attains the maximum may carry weight.
    """

    stationarity: float  # ||grad f + sum_i lambda_i grad g_i||
    infeasibility: float  # max_i [g_i]_+
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


def residuals(g: Tensor, gradients: Gradients, multipliers: Tensor) -> Residuals:
    """The KKT residuals of a point with constraint values ``g`` and ``multipliers``, both float64; without a wait."""
    # In float64: what is left of large gradients that cancel must not be the rounding of their sum.
    lagrangian = gradients.f.to(torch.float64) + multipliers @ gradients.g.to(torch.float64)
    stationarity = torch.linalg.vector_norm(lagrangian)
    if g.numel() == 0:
        none = stationarity.new_zeros(())
        return Residuals(stationarity, none, none)
    return Residuals(stationarity, g.clamp(min=0).amax(), (multipliers * g).abs().amax())


def best_multipliers(g: Tensor, gradients: Gradients) -> Tensor:
    """The non-negative multipliers with the least ||grad f + sum_i lambda_i grad g_i||^2 + sum_i (lambda_i g_i)^2.

    The second term is the slackness residual: it keeps the multiplier of a clearly inactive constraint at zero.
    float64, on g's device.
    """
    if g.numel() == 0:
        return g.new_zeros(0)
    G = gradients.g.to(torch.float64)
    gram = G @ G.T + torch.diag(g.square())
    slope = G @ gradients.f.to(torch.float64)
    if g.numel() == 1:
        # The closed form needs no host. Where the gradient vanishes and g = 0, every multiplier is as good; take none.
        curvature = gram.reshape(1)
        return torch.where((curvature > 0) & (slope < 0), -slope / curvature, 0.0)
    return minimise_on_orthant(gram.cpu(), slope.cpu()).to(g.device)
