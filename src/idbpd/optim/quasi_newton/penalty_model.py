"""The quadratic model of the penalty function f + mu max_i [g_i]_+ around a point, and its minimiser: the direction and
the multipliers.

    min_d  <grad f, d> + 1/(2t) <d, H^{-1} d> + mu max_i [g_i + <grad g_i, d>]_+

Its dual has one unknown per constraint: the multipliers, non-negative with sum at most mu. So a multiplier is bounded
by construction, however small the gradients of the constraints are; where the linearised constraints can be met it is
the multiplier of the quadratic program with the barrier <grad g_i, d> <= -g_i. The factor t shrinks the metric: it
traces the arc of a search from the full step (t = 1) to a short step of steepest descent on the penalty function.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, truth
from idbpd.optim.qp.active_set import minimise_on_orthant


class Proposal(NamedTuple):
    """A direction d = -t H (a grad f + sum_i lambda_i grad g_i) and what the model says about it."""

    t: float
    weights: Tensor  # (1 + c,) float64 on the host: a and the multipliers lambda
    slope: float  # a <grad f, d>
    violation: float  # max_i [g_i + <grad g_i, d>]_+
    reduction: float  # by how much the model says the penalty function falls
    change: Tensor  # (c,) <grad g_i, d>

    @property
    def multipliers(self) -> Tensor:
        """The lambda of the direction."""
        return self.weights[1:]


class PenaltyModel(NamedTuple):
    """Everything about a point that directions are made of. ``gram`` and ``g`` are small and live on the host in
    float64.
    """

    rows: Tensor  # (1 + c, d): H grad f, H grad g_1, ...
    gram: Tensor  # (1 + c, 1 + c): inner products of the gradients in the metric H
    g: Tensor  # (c,)
    margin: Tensor  # (c,) by how much more than the linearised constraints a direction asks for
    objective: float  # a: 1, or 0 when only the violation is minimised

    def propose(self, t: float, penalty: float, g: Tensor | None = None) -> Proposal:
        """The minimiser of the model; ``g`` replaces the constraint values in a second-order correction.

        With a margin it is asked to stay that much further inside, as long as that costs at most half of the reduction.
        """
        if g is not None or not truth((self.margin > 0).any()):
            return self._propose(t, penalty, self.g if g is None else g)
        plain, inner = self._propose(t, penalty, self.g), self._propose(t, penalty, self.g + self.margin)
        return inner if inner.reduction >= 0.5 * plain.reduction else plain

    def _propose(self, t: float, penalty: float, values: Tensor) -> Proposal:
        linear = t * self.objective * self.gram[1:, 0] - values
        multipliers = minimise_on_orthant(t * self.gram[1:, 1:], linear, penalty) if values.numel() else values
        weights = torch.cat([multipliers.new_full((1,), self.objective), multipliers])
        products = self.gram @ weights
        change = -t * products  # <grad f, d> and <grad g_i, d>
        slope = self.objective * number(change[0])
        # Near a solution all terms cancel. What is left below the rounding of the terms is neither violation nor rise.
        terms = 64 * torch.finfo(torch.float64).eps * t * (self.gram.abs() @ weights)
        after = violation(self.g + change[1:] - terms[1:])
        reduction = -slope - 0.5 * t * number(weights @ products) + penalty * (violation(self.g) - after)
        rounding = number(weights @ terms)
        return Proposal(t, weights, slope, after, rounding if abs(reduction) < rounding else reduction, change[1:])

    def direction(self, proposal: Proposal) -> Tensor:
        """The vector d of a proposal."""
        return (-proposal.t * proposal.weights).to(self.rows) @ self.rows


def violation(g: Tensor) -> float:
    """max_i [g_i]_+ as a number."""
    return max(0.0, number(g.amax())) if g.numel() else 0.0
