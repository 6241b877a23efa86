"""A smooth measure of how many weights of a layer are not zero, and the schedule along which it becomes sharp.

The number of non-zero weights has no slope. The measure of Geman and McClure (Statistical methods for tomographic
image reconstruction, Bulletin of the International Statistical Institute 52, 1987) has one everywhere:

    phi(w) = sum_i w_i^2 / (w_i^2 + delta^2)

A weight of zero counts 0, one of size delta counts a half, and as delta goes to zero every other weight counts 1. For
every delta it is a lower bound of the number of non-zero weights. Its slope falls as 2 delta^2 / |w|^3 for large
weights, not exponentially as that of 1 - exp(-w^2 / delta^2) (the smoothed l0 norm of Mohimani, Babaie-Zadeh and
Jutten, IEEE Transactions on Signal Processing 57(1), 2009): large weights can still be given up. The way from a large
delta to a small one with warm starts is that of the same authors.
"""

from collections.abc import Callable

import torch
from torch import Tensor

_HALVINGS = 60  # of the interval in which a sharpness is looked for


def measure(weights: Tensor, delta: float) -> Tensor:
    """The smooth number of non-zero weights; a float64 scalar.

    >>> float(measure(torch.tensor([0.0, 0.1, 1000.0]), delta=0.1))
    1.4999...
    """
    squares = weights.to(torch.float64).square()
    return (squares / (squares + delta**2)).sum()


def slope(weights: Tensor, delta: float) -> Tensor:
    """The derivative of `measure`, in the precision of the weights."""
    exact = weights.to(torch.float64)
    return (2 * delta**2 * exact / (exact.square() + delta**2).square()).to(weights.dtype)


def bend(weights: Tensor, delta: float) -> Tensor:
    """The second derivative of `measure` in each weight, in the precision of the weights."""
    squares = weights.to(torch.float64).square()
    return (2 * delta**2 * (delta**2 - 3 * squares) / (squares + delta**2).pow(3)).to(weights.dtype)


def schedule(first: float, last: float, stages: int) -> list[float]:
    """The widths of the stages, from ``first`` to ``last``, each the same share of the one before.

    >>> schedule(1.0, 0.01, 3)
    [1.0, 0.1, 0.01]
    """
    if stages == 1 or first <= last:
        return [last]
    ratio = (last / first) ** (1 / (stages - 1))
    return [*(first * ratio**stage for stage in range(stages - 1)), last]


def width_at_which(is_within: Callable[[float], bool], largest: float) -> float:
    """The smallest width, up to a factor of ``2 ** -60`` of ``largest``, at which the weights are within a budget.

    The wider, the fewer weights count, so that a search by halving finds it.
    """
    low, high = 0.0, largest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_within(middle) else (middle, high)
    return high
