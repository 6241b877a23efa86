"""The minimiser of the model of a step where few variables have bounds, and the metric is only known as a product H v.

    min over d of  the model + 1/(2t) <d, B d>    subject to    low <= x + d <= high,        B = H^{-1}

As in `bounded_steps`, by active sets. There the variables that are held are taken out of B, which needs an inverse of
a part of H. Here they stay, and each has a multiplier n: d = -t H (gradient - n), with n such that d is at the bounds.
That is a system with one unknown per variable that is held, and B is never needed: B d = -t (gradient - n).
"""

import torch
from torch import Tensor

from idbpd.optim.bounds import Bounds
from idbpd.optim.device_reads import read
from idbpd.optim.quasi_newton.bounded_steps import ROUNDING, ROUNDS, BoundedStep, Dual, Held
from idbpd.optim.quasi_newton.lbfgs import Metric

MOST = 100  # variables with a bound: each that is held costs a product with H


class FewBoundedSteps:
    """Steps from a point within bounds. It remembers which variables were held, as the next step will hold most."""

    def __init__(
        self, x: Tensor, bounds: Bounds, metric: Metric, gradients: Tensor, rows: Tensor, pressing: Tensor
    ) -> None:
        """``rows`` (rows, d) are ``metric`` times ``gradients``, ``pressing`` (d,) is that of the Lagrangian."""
        self.bounds = bounds
        self._low, self._high = ((bound - x).double() for bound in bounds)
        self._noise = 4 * torch.finfo(x.dtype).eps * x.abs().double()
        self._gradients, self._rows, self._metric, self._dtype = gradients.double(), rows.double(), metric, x.dtype
        self._columns: dict[int, Tensor] = {}  # H times the unit vector of a variable that was held
        sides = bounds.sides(x)
        self._held = Held(sides.at_low & (pressing > 0), sides.at_high & (pressing < 0))

    def minimise(self, t: float, values: Tensor, dual: Dual) -> BoundedStep:
        """The step for a length of arc ``t`` and the rows' ``values``, on the host."""
        held, rounds = self._held, 0
        while True:
            d, pull, weights, gram = self._on_face(t, values, dual, held)
            gradient = weights.to(d) @ self._gradients
            slack = ROUNDING * (gradient.abs() + pull.abs())
            pressing = gradient - pull
            is_free, may_leave = ~(held.at_low | held.at_high), rounds < ROUNDS
            following = Held(
                (is_free & (d < self._low - self._noise)) | (held.at_low & ((pressing > -slack) | (not may_leave))),
                (is_free & (d > self._high + self._noise)) | (held.at_high & ((pressing < slack) | (not may_leave))),
            )
            if following.same(held):
                break
            held, rounds = following, rounds + 1
        self._held = held
        d = d.clamp(min=self._low, max=self._high)  # by rounding
        change, bent = read(self._gradients @ d, -0.5 * d @ pull)
        return BoundedStep(weights, d, pull, gram, change, float(bent))

    def moved(self, x: Tensor, step: BoundedStep) -> Tensor:
        """``x`` after a step, exactly at the bounds that the step meets."""
        low, high = self.bounds
        there = (x + step.d.to(x)).clamp(min=low, max=high)
        return torch.where(step.d <= self._low, low, torch.where(step.d >= self._high, high, there))

    def _on_face(self, t: float, values: Tensor, dual: Dual, held: Held) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The minimiser with some variables held, -B d / t, its weights, and the inner products that gave them."""
        at = (held.at_low | held.at_high).nonzero().flatten()
        rows, fixed = self._rows, torch.zeros_like(self._noise)
        if len(at):
            columns = self._columns_of(at)
            where = torch.where(held.at_low, self._low, self._high)[at]
            inner = columns[:, at]
            inner = (inner + inner.T) / 2
            forces = torch.linalg.solve_ex(inner, torch.cat([where.unsqueeze(0), rows[:, at]]).T)[0]
            fixed = forces[:, 0] @ columns
            rows = rows - forces[:, 1:].T @ columns
        gram = rows @ self._gradients.T
        gram, shift = read((gram + gram.T) / 2, self._gradients @ fixed)
        weights = dual(gram, values + shift)
        d, pull = fixed - t * (weights.to(fixed) @ rows), weights.to(fixed) @ self._gradients
        if len(at):
            pull[at] -= forces[:, 0] / t + forces[:, 1:] @ weights.to(fixed)
            d[at] = where
        return d, pull, weights, gram

    def _columns_of(self, at: Tensor) -> Tensor:
        """H times the unit vectors of some variables."""
        numbers = at.tolist()
        missing = [number for number in numbers if number not in self._columns]
        if missing:
            units = torch.zeros(len(missing), len(self._noise), dtype=self._dtype, device=at.device)
            units[range(len(missing)), missing] = 1.0
            self._columns |= dict(zip(missing, self._metric.apply(units).double(), strict=True))
        return torch.stack([self._columns[number] for number in numbers])
