"""The largest value at the corners of a set: the maximum of a convex function."""

import torch
from torch import Tensor

from idbpd.optim.device_reads import read
from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.sets import Box, ConvexSet, Polyhedron, Product, Simplex

_MOST_AXES = 14  # of a box: 16 384 corners are looked at in a tenth of a second
_MOST_ENTRIES = 1_000  # of a distribution: as many corners, each with as many entries


def corners_of(over: ConvexSet, like: Tensor, most_axes: int = _MOST_AXES) -> Tensor | None:
    """All corners, (count, *shape); None where the set has none, or too many."""
    match over:
        case Box() if over.is_bounded:
            low, high = over.low.to(like).flatten(), over.high.to(like).flatten()
            axes = (low < high).nonzero().flatten()
            if axes.numel() > most_axes:
                return None
            bits = torch.arange(2 ** axes.numel(), device=like.device)
            places = torch.arange(axes.numel(), device=like.device)
            is_high = (bits.unsqueeze(1) >> places) & 1
            corners = low.repeat(bits.numel(), 1)
            corners[:, axes] = torch.where(is_high.bool(), high[axes], low[axes])
            return corners.reshape(-1, *over.shape)
        case Simplex() if over.n <= _MOST_ENTRIES:
            return torch.eye(over.n, dtype=like.dtype, device=like.device)
        case Polyhedron():
            return over.corners.to(like)
        case Product():
            return _of_product(over, like, most_axes)
        case _:
            return None


def _of_product(over: Product, like: Tensor, most_axes: int) -> Tensor | None:
    """One corner of each factor, in all combinations."""
    parts, count = [], 1
    for factor in over.factors:
        corners = corners_of(factor, like, most_axes)
        if corners is None or count * corners.shape[0] > 2**most_axes:
            return None
        parts.append(corners.reshape(corners.shape[0], -1))
        count *= corners.shape[0]
    places = torch.cartesian_prod(*(torch.arange(part.shape[0], device=like.device) for part in parts)).unbind(1)
    return torch.cat([part[place] for part, place in zip(parts, places, strict=True)], dim=1)


def highest(f: InnerFunction, points: Tensor) -> tuple[Tensor, float]:
    """The point with the largest value, and that value; what is no number cannot win."""
    (values,) = read(f.values_somehow(points).nan_to_num(-torch.inf, neginf=-torch.inf))
    at = int(values.argmax())
    return points[at], float(values[at])
