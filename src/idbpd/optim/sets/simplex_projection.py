"""The nearest point of the probability simplex, exactly.

The projection is ``p = [v - theta]_+`` with the one theta for which p sums to one; all there is to do is to find
theta. Two ways are kept, the fastest of those in `benchmarks/simplex_projection.py`: sorting, whose steps do not
depend on the numbers, for accelerators, batches and short vectors; Newton's method, which looks at a number to know
its end, for one long vector in host memory.
"""

import math

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here

_LONG = 4096  # below, the fixed cost of Newton's method is more than a sort


def project_onto_simplex(v: Tensor) -> Tensor:
    """Project every vector along the last dimension onto ``{p >= 0, sum p = 1}``.

    An entry of -inf gets the weight 0. A vector with a NaN or +inf, or with nothing but -inf, has no projection: NaN
    comes back in every coordinate.
    """
    # Only differences to the largest entry matter. With it at 0 theta is in [-1, 0) and the support in (-1, 0],
    # whatever the scale of v; v without a projection has become NaN, all of it or at the largest entry.
    u = v - v.amax(dim=-1, keepdim=True)
    is_long = v.dim() == 1 and v.numel() >= _LONG
    theta = _newton_threshold(u) if is_long and is_here(v) else _sorted_threshold(u)
    p = (u - theta).relu_()
    # What rounding left of sum p - 1 goes by a Newton step on p, whose entries are smaller than those of v. Signs
    # count and select: comparing and choosing cost several times as much, and would lose NaN.
    positive = p.sign()
    excess = (p.sum(dim=-1, keepdim=True) - 1.0) / positive.sum(dim=-1, keepdim=True)
    return torch.addcmul(p, positive, -excess).relu_()


def _sorted_threshold(u: Tensor) -> Tensor:
    """The largest of the thresholds that the k largest entries alone would have, over all k."""
    down = u.clamp(min=-2.0).sort(dim=-1, descending=True).values
    k = torch.arange(1, down.shape[-1] + 1, dtype=down.dtype, device=down.device)
    return ((down.cumsum(dim=-1) - 1.0) / k).amax(dim=-1, keepdim=True)


def _newton_threshold(u: Tensor) -> Tensor:
    """Newton's method on ``sum [u - theta]_+ = 1``: from below it climbs to theta, and reaches it in finitely many
    steps.

    The threshold of any part of the entries is a lower bound to start from. Taken are the largest entries of some
    blocks, nearly sharp when few entries have weight, and all entries, sharp when all have. Then it takes 1 to 7
    steps.
    """
    n = u.numel()
    blocks = math.isqrt(n)
    heads = u[: n // blocks * blocks].view(-1, blocks).amax(dim=0)
    theta = torch.maximum(_sorted_threshold(heads), (u.sum() - 1.0) / n)
    still = torch.zeros(1, dtype=torch.bool)
    # Each step at least quarters the product of slope and excess, so that rounding ends it within this many.
    for _ in range(n.bit_length() + 32):
        p = (u - theta).relu_()
        ahead = theta + (p.sum() - 1.0) / p.sign_().sum()
        if torch.equal(ahead > theta, still):  # true for NaN, too
            break
        theta = ahead
    return theta
