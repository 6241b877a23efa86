"""The product of sets: w is the concatenation of one point of each."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from idbpd.optim.sets.base import ConvexSet
from idbpd.optim.sets.basic import Box, Space


@final
@dataclass(frozen=True, eq=False)
class Product(ConvexSet):
    """The points (u, v, ...) with u in the first set, v in the second, and so on, flattened and concatenated.

    `split` gives back the parts, each in the shape of its set.

    >>> from idbpd.optim.sets import Ball
    >>> both = Product(Box(0.0, torch.ones(2)), Ball(torch.zeros(2), 1.0))
    >>> both.project(torch.tensor([2.0, 0.5, 3.0, 4.0]))
    tensor([1.0000, 0.5000, 0.6000, 0.8000])
    >>> u, v = both.split(torch.tensor([1.0, 0.5, 0.6, 0.8]))
    """

    factors: tuple[ConvexSet, ...]

    def __init__(self, *factors: ConvexSet) -> None:
        """Check that there are at least two sets, and flatten products of products."""
        if len(factors) < 2:
            raise ValueError(f"Product: at least two sets are needed, but got {len(factors)}")
        parts: list[ConvexSet] = []
        for factor in factors:
            if not isinstance(factor, ConvexSet):
                raise TypeError(f"Product: every factor must be a set such as Box or Ball, got {type(factor).__name__}")
            parts += factor.factors if isinstance(factor, Product) else [factor]
        object.__setattr__(self, "factors", tuple(parts))

    @property
    def shape(self) -> torch.Size:
        """The shape of one point."""
        return torch.Size((sum(factor.dimension for factor in self.factors),))

    @property
    def is_bounded(self) -> bool:
        """Whether all factors are."""
        return all(factor.is_bounded for factor in self.factors)

    def split(self, v: Tensor) -> tuple[Tensor, ...]:
        """The parts of a point, or of a batch of points, each in the shape of its set."""
        self.require_points(v)
        parts = torch.split(v, [factor.dimension for factor in self.factors], dim=-1)
        return tuple(
            part.reshape(*v.shape[:-1], *factor.shape) for part, factor in zip(parts, self.factors, strict=True)
        )

    def joined(self, parts: tuple[Tensor, ...]) -> Tensor:
        """The point, or the batch of points, with these parts."""
        flat = [
            part.reshape(*part.shape[: part.dim() - len(factor.shape)], factor.dimension)
            for part, factor in zip(parts, self.factors, strict=True)
        ]
        return torch.cat(flat, dim=-1)

    def project(self, v: Tensor) -> Tensor:
        """Project every part."""
        return self.joined(tuple(factor.project(p) for factor, p in zip(self.factors, self.split(v), strict=True)))

    def centre(self, like: Tensor) -> Tensor:
        """The centres of all factors."""
        return self.joined(tuple(factor.centre(like) for factor in self.factors))

    def support(self, direction: Tensor) -> Tensor:
        """The support point of every factor."""
        parts = zip(self.factors, self.split(direction), strict=True)
        return self.joined(tuple(factor.support(part) for factor, part in parts))

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether every part is in its set to within ``tolerance``."""
        parts = zip(self.factors, self.split(v), strict=True)
        return torch.stack([factor.contains(part, tolerance) for factor, part in parts]).all(dim=0)

    def simplified(self) -> ConvexSet:
        """The same points as one box, if all factors are boxes or spaces."""
        lows, highs = [], []
        for factor in self.factors:
            match factor:
                case Box():
                    lows.append(factor.low.flatten().double())
                    highs.append(factor.high.flatten().double())
                case Space():
                    lows.append(torch.full((factor.n,), -torch.inf, dtype=torch.float64))
                    highs.append(torch.full((factor.n,), torch.inf, dtype=torch.float64))
                case _:
                    return self
        return Box(torch.cat(lows), torch.cat(highs))
