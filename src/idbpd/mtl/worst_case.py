r"""The worst case of a weighted loss, in closed form.

For losses l of n samples, the chi-square-regularised worst case over the simplex is

.. math:: \max_{y \in \Delta_n} \sum_i y_i l_i - \frac{\lambda n}{2} \|y - 1/n\|^2 .

It is a concave quadratic with Hessian -lambda n I, so the maximiser is the projection of 1/n + l / (lambda n) onto the
simplex: one projected-gradient step of size 1 / (lambda n) is exact from any start, and the N_k and M_k steps of
Algorithm 1 collapse to one.
"""

from typing import NamedTuple

from torch import Tensor

from idbpd.optim.sets import Simplex


class WorstCase(NamedTuple):
    """The worst distribution over the samples and the loss it gives."""

    weights: Tensor  # (n,), on the simplex, float64
    value: Tensor  # scalar, float64


def worst_case(losses: Tensor, regularisation: float) -> WorstCase:
    """The worst case of ``losses``. Sums run in float64: a search compares differences that float32 does not show."""
    if losses.device.type == "mps":
        losses = losses.cpu()  # Apple's devices have no float64
    losses = losses.double()
    n = len(losses)
    weights = Simplex(n).project(1 / n + losses / (regularisation * n))
    distance = ((weights - 1 / n) ** 2).sum()
    return WorstCase(weights, weights @ losses - regularisation * n / 2 * distance)
