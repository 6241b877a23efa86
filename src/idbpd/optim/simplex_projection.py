"""The nearest point of the probability simplex, exactly and without a host synchronisation."""

import torch
from torch import Tensor


def project_onto_simplex(v: Tensor) -> Tensor:
    """Project every vector along the last dimension onto ``{p >= 0, sum p = 1}``.

    The projection is ``p = [v - theta]_+`` with the one ``theta`` for which p sums to one. An entry of -inf gets the
    weight 0. A vector with a NaN or +inf, or with nothing but -inf, has no projection: NaN comes back in every
    coordinate.
    """
    # Only differences to the largest entry matter; with it at 0 the support lies in (-1, 0], whatever the scale of v
    # was.
    u = v - v.amax(dim=-1, keepdim=True)
    u = torch.where(u.isneginf(), torch.full_like(u, -2.0), u)
    descending = u.clamp(min=-2.0).sort(dim=-1, descending=True).values
    counts = torch.arange(1, v.shape[-1] + 1, dtype=v.dtype, device=v.device)
    thresholds = (descending.cumsum(dim=-1) - 1.0) / counts
    theta = thresholds.amax(dim=-1, keepdim=True)
    p = (u - theta).clamp(min=0.0)
    return _sum_to_one(p)


def _sum_to_one(p: Tensor) -> Tensor:
    """Remove what rounding left of ``sum p - 1``: a Newton step on p, whose entries are smaller than those of v."""
    positive = p > 0.0
    excess = (p.sum(dim=-1, keepdim=True) - 1.0) / positive.sum(dim=-1, keepdim=True)
    return torch.where(positive, (p - excess).clamp(min=0.0), p)
