"""The quadratic model of the penalty function f + mu max_i [g_i]_+ around a point, and its minimiser: the direction and
the multipliers.

    min_d  max_j (phi_j + <grad phi_j, d>) + mu max_ij [psi_ij + <grad psi_ij, d>]_+ + 1/(2t) <d, H^{-1} d>

Each row is a worst case that is known: one per term, f and the g_i themselves, as in sequential quadratic programming;
several where the worst case jumps, as in a bundle method. The dual has one unknown per row: the weights of the
objective's rows, whose sum is 1, and the multipliers, non-negative with sum at most mu. So a multiplier is bounded
by construction, however small the gradients of the constraints are (that of an equality has either sign, and its size
counts); where the linearised constraints can be met it is
the multiplier of the quadratic program with the barrier <grad g_i, d> <= -g_i. The factor t shrinks the metric: it
traces the arc of a search from the full step (t = 1) to a short step of steepest descent on the penalty function.
"""

from operator import mul
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import number, truth
from idbpd.optim.oracle import sizes
from idbpd.optim.qp.active_set import (
    Group,
    few_on_orthant,
    merged,
    minimise_on_simplices,
    minimise_signed,
    mirrored,
)
from idbpd.optim.qp.few_unknowns import MOST_UNKNOWNS, minimise_few
from idbpd.optim.quasi_newton.bounded_steps import BoundedStep, BoundedSteps
from idbpd.optim.quasi_newton.few_bounds import FewBoundedSteps

# Share of the terms of a sum that its rounding may be: each product rounds once, and a model has a few dozen of them.
_ROUNDINGS = 64 * torch.finfo(torch.float64).eps


class Proposal(NamedTuple):
    """A direction d = -t H (sum of weights times gradients) and what the model says about it."""

    t: float
    weights: Tensor  # (rows,) float64 on the host
    multipliers: Tensor  # the weights of the constraints' rows
    slope: float  # change of the objective: <grad f, d> with one row
    violation: float  # max_ij [psi_ij + <grad psi_ij, d>]_+
    reduction: float  # by how much the model says the penalty function falls
    change: Tensor  # (rows,) <grad, d>
    within: BoundedStep | None = None  # the direction itself, where it has to stay within bounds


class PenaltyModel(NamedTuple):
    """Everything about a point that directions are made of, the objective's rows first; on the host, but for `rows`."""

    rows: Tensor  # (rows, d) on the device: H times the gradient of each row
    gram: Tensor  # (rows, rows): inner products of the gradients in the metric H
    values: Tensor  # (rows,) phi_j - f and psi_ij
    margin: Tensor  # (rows,) by how much more than the linearised constraints a direction asks for
    terms: tuple[int, ...]  # of the rows: 0 for the objective, 1 + i for constraint i
    objective: float  # a: 1, or 0 when only the violation is minimised
    equalities: int = 0  # how many rows, the last ones, are of equalities
    bounded: BoundedSteps | FewBoundedSteps | None = None  # how to keep bounds on x, where there are any

    @property
    def objective_rows(self) -> int:
        """How many rows are of the objective."""
        return self.terms.count(0)

    @property
    def g(self) -> Tensor:
        """The values of the constraints' rows."""
        return self.values[self.objective_rows :]

    @property
    def violation(self) -> float:
        """That at the point itself."""
        return violation(self.g, self.equalities)

    def propose(self, t: float, penalty: float, values: Tensor | None = None) -> Proposal:
        """The minimiser of the model; ``values`` replaces those of the rows in a second-order correction.

        With a margin it is asked to stay that much further inside, as long as that costs at most half of the reduction.
        """
        if values is not None or not truth((self.margin > 0).any()):
            return self._propose(t, penalty, self.values if values is None else values)
        plain, inner = self._propose(t, penalty, self.values), self._propose(t, penalty, self.values + self.margin)
        return inner if inner.reduction >= 0.5 * plain.reduction else plain

    def _propose(self, t: float, penalty: float, values: Tensor) -> Proposal:
        if self.bounded is None and self.equalities == 0 and values.numel() <= MOST_UNKNOWNS:
            return self._propose_in_numbers(t, penalty, values.tolist())
        k = self.objective_rows
        step, gram = None, self.gram
        if self.bounded is None:
            weights = self._weights(t, penalty, values)
            products = gram @ weights
            change, bent = -t * products, 0.5 * t * number(weights @ products)
        else:
            step = self.bounded.minimise(t, values, lambda gram, v: self._replace(gram=gram)._weights(t, penalty, v))
            weights, gram, change, bent = step.weights, step.gram, step.change, step.bent
        after = self.values + change
        terms = _ROUNDINGS * t * (gram.abs() @ weights.abs())
        proposal = self._proposal(
            t,
            penalty,
            weights,
            change,
            number(after[:k].amax()),
            violation(after[k:], self.equalities, terms[k:]),
            bent,
            number(weights.abs() @ terms),
        )
        return proposal._replace(within=step)

    def _propose_in_numbers(self, t: float, penalty: float, values: list[float]) -> Proposal:
        """The same without a tensor: for a few rows that is several times as fast."""
        k = self.objective_rows
        gram = self.gram.tolist()
        weights = self._few_weights(t, penalty, gram, values)
        products = [sum(map(mul, row, weights)) for row in gram]
        change = [-t * one for one in products]
        terms = [_ROUNDINGS * t * sum(abs(a) * w for a, w in zip(row, weights, strict=True)) for row in gram]
        after = [value + one for value, one in zip(self.values.tolist(), change, strict=True)]
        left = max((one - size for one, size in zip(after[k:], terms[k:], strict=True)), default=0.0)
        return self._proposal(
            t,
            penalty,
            self.values.new_tensor(weights),
            self.values.new_tensor(change),
            max(after[:k]),
            max(left, 0.0),
            0.5 * t * sum(map(mul, weights, products)),
            sum(map(mul, weights, terms)),
        )

    def _proposal(
        self,
        t: float,
        penalty: float,
        weights: Tensor,
        change: Tensor,
        rise: float,
        left: float,
        bent: float,
        rounding: float,
    ) -> Proposal:
        """What the model says of some weights. ``rounding`` is of the terms, which all cancel near a solution: what is
        left below it is neither violation nor rise.
        """
        slope = self.objective * rise
        reduction = -slope - bent + penalty * (self.violation - left)
        reduction = rounding if abs(reduction) < rounding else reduction
        return Proposal(t, weights, weights[self.objective_rows :], slope, left, reduction, change)

    def _few_weights(self, t: float, penalty: float, gram: list[list[float]], values: list[float]) -> list[float]:
        """The solution of the dual in numbers."""
        k, n = self.objective_rows, len(values)
        scaled = [[t * one for one in row] for row in gram]
        if k > 1 and self.objective > 0:
            padded = [[*row, 0.0] for row in scaled] + [[0.0] * (n + 1)]
            linear = [*(-value for value in values), 0.0]
            return minimise_few(padded, linear, [Group(range(k), 1.0), Group(range(k, n + 1), penalty)])[:n]
        weights = [self.objective] + [0.0] * (k - 1)
        linear = [t * self.objective * row[0] - value for row, value in zip(gram[k:], values[k:], strict=True)]
        return weights + few_on_orthant([row[k:] for row in scaled[k:]], linear, penalty)

    def _weights(self, t: float, penalty: float, values: Tensor) -> Tensor:
        """The solution of the dual."""
        k, n = self.objective_rows, values.numel()
        if k > 1 and self.objective > 0:
            # One more unknown takes the part of the penalty that is not spent.
            inner, linear = mirrored(t * self.gram, -values, self.equalities)
            m = linear.numel()
            Q, b = torch.zeros((m + 1, m + 1), dtype=torch.float64), torch.zeros(m + 1, dtype=torch.float64)
            Q[:m, :m], b[:m] = inner, linear
            found = minimise_on_simplices(Q, b, [Group(range(k), 1.0), Group(range(k, m + 1), penalty)])[:m]
            return merged(found, self.equalities)
        weights = torch.zeros_like(values)
        weights[0] = self.objective
        if n > k:
            linear = t * self.objective * self.gram[k:, 0] - values[k:]
            weights[k:] = minimise_signed(t * self.gram[k:, k:], linear, self.equalities, penalty)
        return weights

    def foreseen_change(self, proposal: Proposal, g: Tensor) -> Tensor:
        """(1 + c,) the change of f and every g that the model foresees; ``g`` has their values at the point."""
        here = torch.cat([g.new_zeros(1), g])
        terms = torch.tensor(self.terms)
        change = self.values - here[terms] + proposal.change
        return torch.full_like(here, -torch.inf).scatter_reduce(0, terms, change, "amax")

    def direction(self, proposal: Proposal) -> Tensor:
        """The vector d of a proposal."""
        if proposal.within is not None:
            return proposal.within.d.to(self.rows)
        return (-proposal.t * proposal.weights).to(self.rows) @ self.rows

    def moved(self, x: Tensor, proposal: Proposal) -> Tensor:
        """The point that a proposal leads to from ``x``."""
        if self.bounded is None or proposal.within is None:
            return x + self.direction(proposal)
        return self.bounded.moved(x, proposal.within)


def violation(g: Tensor, equalities: int = 0, errors: Tensor | None = None) -> float:
    """max_i [g_i]_+ as a number, with |g_i| for the last ``equalities``; only what exceeds the ``errors`` counts."""
    if g.numel() == 0:
        return 0.0
    beyond = sizes(g, equalities)
    return max(0.0, number((beyond if errors is None else beyond - errors).amax()))
