"""What the rest of the solver may ask of a set that is maximised over.

A point has the shape ``shape``; every method takes a batch of points in its leading dimensions. A set answers on the
device and in the dtype of its argument: its own tensors follow (keep them on the device you compute on, then nothing
is copied).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor


class ConvexSet(ABC):
    """A closed convex set with an exact Euclidean projection."""

    @property
    @abstractmethod
    def shape(self) -> torch.Size:
        """The shape of one point."""

    @property
    @abstractmethod
    def is_bounded(self) -> bool:
        """Whether a linear function has a maximiser whatever its direction."""

    @abstractmethod
    def project(self, v: Tensor) -> Tensor:
        """The point of the set nearest to ``v``."""

    @abstractmethod
    def centre(self, like: Tensor) -> Tensor:
        """A point in the middle of the set to start from, with the dtype and device of ``like``."""

    @abstractmethod
    def support(self, direction: Tensor) -> Tensor:
        """A point of the set with the largest inner product with ``direction``; only for a bounded set."""

    @abstractmethod
    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether each point of the batch meets every condition of the set to within ``tolerance``."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return prod(self.shape)

    def require_points(self, v: Tensor) -> Tensor:
        """Return ``v`` after checking that it is a batch of points of this set."""
        k = len(self.shape)
        if v.dim() < k or v.shape[v.dim() - k :] != self.shape:
            raise ValueError(
                f"{type(self).__name__} has points of shape {tuple(self.shape)}, "
                f"so the last {k} dimension(s) of a tensor must be these, but its shape is {tuple(v.shape)}"
            )
        if not v.is_floating_point():
            raise TypeError(f"{type(self).__name__} needs floating point numbers, but got a tensor of dtype {v.dtype}")
        return v


@dataclass(frozen=True)
class DistributionSet(ConvexSet):
    """A set of probability vectors with ``n`` entries that has the uniform distribution in its middle."""

    n: int

    def __post_init__(self) -> None:
        """Check ``n``."""
        require_dimension(type(self).__name__, self.n)

    @property
    def shape(self) -> torch.Size:
        """The shape of one point."""
        return torch.Size((self.n,))

    @property
    def is_bounded(self) -> bool:
        """Always."""
        return True

    def centre(self, like: Tensor) -> Tensor:
        """The uniform distribution."""
        return like.new_full(self.shape, 1.0 / self.n)

    def are_distributions(self, v: Tensor, tolerance: float) -> Tensor:
        """Whether no entry is below ``-tolerance`` and the sum is one to within ``tolerance``."""
        self.require_points(v)
        return (v >= -tolerance).all(dim=-1) & ((v.sum(dim=-1) - 1.0).abs() <= tolerance)


def require_dimension(owner: str, n: int) -> None:
    """Refuse a number of coordinates that is not a positive integer."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"{owner}: n must be an int of at least 1, but is {n!r}")
    if n < 1:
        raise ValueError(f"{owner}: n must be at least 1, but is {n}")


def require_radius(owner: str, radius: float) -> None:
    """Refuse a radius that is not positive and finite."""
    if not 0.0 < radius < float("inf"):
        raise ValueError(f"{owner}: radius must be positive and finite, but is {radius}")
