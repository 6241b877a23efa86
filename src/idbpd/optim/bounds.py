"""Bounds on x: simple enough to be kept exactly, and to need no row of their own in any system.

A variable at a bound that the gradient of the Lagrangian pushes against does not count for stationarity: what is left
there is the multiplier of the bound.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

_ROUNDS = 20  # of guesses which variables at bounds count: one to three on the bank; the best one is taken at the end


class Sides(NamedTuple):
    """Which variables of a point are at their bounds."""

    at_low: Tensor  # (d,) boolean
    at_high: Tensor

    def counts(self, gradient: Tensor) -> Tensor:
        """Which entries of a gradient count: a descent along the others would leave the bounds."""
        return ~((self.at_low & (gradient >= 0)) | (self.at_high & (gradient <= 0)))

    def left(self, gradient: Tensor) -> Tensor:
        """The gradient without the entries that do not count."""
        return torch.where(self.counts(gradient), gradient, 0.0)


class Bounds(NamedTuple):
    """low <= x <= high, entry by entry; flat, with infinite entries where a variable is free."""

    low: Tensor
    high: Tensor

    def project(self, x: Tensor) -> Tensor:
        """The nearest point within the bounds."""
        return x.clamp(min=self.low, max=self.high)

    def sides(self, x: Tensor) -> Sides:
        """Which variables are at their bounds, up to rounding."""
        small = 4 * torch.finfo(x.dtype).eps
        return Sides(
            self.low.isfinite() & (x - self.low <= small * self.low.abs()),
            self.high.isfinite() & (self.high - x <= small * self.high.abs()),
        )


def settled(rows: Tensor, sides: Sides | None, solve: Callable[[Tensor], Tensor]) -> Tensor:
    """The weights of gradients, ``rows``, that leave least, by ``solve``, in the entries that count at these weights.

    Which entries count depends on the weights: a guess is corrected until it is right, or the best one is taken.
    """
    if sides is None:
        return solve(rows)
    counts = ~(sides.at_low | sides.at_high)
    best, least = None, torch.inf
    for _ in range(_ROUNDS):
        weights = solve(torch.where(counts, rows, 0.0))
        total = weights.to(rows) @ rows
        left = float(torch.linalg.vector_norm(sides.left(total)))
        if best is None or left < least:
            best, least = weights, left
        found = sides.counts(total)
        if bool((found == counts).all()):
            return weights
        counts = found
    assert best is not None
    return best
