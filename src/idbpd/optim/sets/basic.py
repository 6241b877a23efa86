"""``Simplex``, ``Box``, ``Ball`` and ``Space``.

None of them waits for a device: they work on tensors of which only the shape is known.
"""

from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor

from idbpd.optim.sets.base import ConvexSet, DistributionSet, require_dimension, require_radius
from idbpd.optim.sets.simplex_projection import project_onto_simplex


@final
@dataclass(frozen=True)
class Simplex(DistributionSet):
    """The probability vectors with ``n`` entries.

    >>> Simplex(3).project(torch.tensor([0.5, 0.0, 2.0]))
    tensor([0., 0., 1.])
    """

    def project(self, v: Tensor) -> Tensor:
        """The nearest probability vector; -inf gets weight 0, a vector without a projection becomes NaN."""
        return project_onto_simplex(self.require_points(v))

    def support(self, direction: Tensor) -> Tensor:
        """All weight on the first largest entry."""
        best = self.require_points(direction).argmax(dim=-1, keepdim=True)
        return torch.zeros_like(direction).scatter(-1, best, 1.0)

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether no entry is below ``-tolerance`` and the sum is one to within ``tolerance``."""
        return self.are_distributions(v, tolerance)


@final
@dataclass(frozen=True, eq=False)
class Box(ConvexSet):
    """The points between ``low`` and ``high``, coordinate by coordinate; a bound may be infinite.

    A number stands for every coordinate of the other bound. Two numbers make a set of 0-dimensional points.

    >>> Box(torch.zeros(2), 1.0).project(torch.tensor([-3.0, 0.25]))
    tensor([0.0000, 0.2500])
    """

    low: Tensor
    high: Tensor
    _is_bounded: bool = field(repr=False)

    def __init__(self, low: Tensor | float, high: Tensor | float) -> None:
        """Check the bounds once, here, so that no method has to."""
        lower, upper = _bound("low", low), _bound("high", high)
        if isinstance(low, Tensor) and isinstance(high, Tensor) and low.shape != high.shape:
            raise ValueError(f"Box: low and high must have one shape, not {tuple(low.shape)} and {tuple(high.shape)}")
        if isinstance(low, Tensor) and isinstance(high, Tensor) and low.device != high.device:
            raise ValueError(f"Box: low and high must be on one device, but are on {low.device} and {high.device}")
        if not isinstance(low, Tensor):
            lower = torch.full_like(upper, float(low))
        if not isinstance(high, Tensor):
            upper = torch.full_like(lower, float(high))
        for index in (lower > upper).nonzero()[:1].tolist():
            at = tuple(index)
            raise ValueError(
                f"Box: low must be at most high: low{index} = {float(lower[at])} and high{index} = {float(upper[at])}"
            )
        if bool(torch.isposinf(lower).any()) or bool(torch.isneginf(upper).any()):
            raise ValueError("Box: low must be below +inf and high above -inf, or the box holds no point")
        object.__setattr__(self, "low", lower)
        object.__setattr__(self, "high", upper)
        object.__setattr__(self, "_is_bounded", bool(lower.isfinite().all()) and bool(upper.isfinite().all()))

    @property
    def shape(self) -> torch.Size:
        """The shape of one point."""
        return self.low.shape

    @property
    def is_bounded(self) -> bool:
        """Whether all bounds are finite."""
        return self._is_bounded

    def project(self, v: Tensor) -> Tensor:
        """Clamp every coordinate."""
        self.require_points(v)
        return v.clamp(min=self.low.to(v), max=self.high.to(v))

    def centre(self, like: Tensor) -> Tensor:
        """The midpoint; where a bound is infinite, the point of the box nearest to zero."""
        low, high = self.low.to(like), self.high.to(like)
        middle = low + (high - low) / 2.0
        return torch.where(middle.isfinite(), middle, torch.zeros_like(low).clamp(min=low, max=high))

    def support(self, direction: Tensor) -> Tensor:
        """The corner that the direction points to; the lower bound in coordinates where it is zero."""
        if not self.is_bounded:
            raise ValueError("Box: a linear function has no maximiser over a box with an infinite bound")
        self.require_points(direction)
        return torch.where(direction > 0.0, self.high.to(direction), self.low.to(direction))

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether every coordinate is within ``tolerance`` of its interval."""
        self.require_points(v)
        inside = (v >= self.low.to(v) - tolerance) & (v <= self.high.to(v) + tolerance)
        return inside.flatten(start_dim=inside.dim() - len(self.shape)).all(dim=-1) if self.shape else inside


@final
@dataclass(frozen=True, eq=False)
class Ball(ConvexSet):
    """The points at a Euclidean distance of at most ``radius`` from ``center``.

    >>> Ball(torch.zeros(2), 1.0).project(torch.tensor([3.0, 4.0]))
    tensor([0.6000, 0.8000])
    """

    center: Tensor
    radius: float

    def __post_init__(self) -> None:
        """Check centre and radius."""
        object.__setattr__(self, "center", _bound("center", self.center, owner="Ball"))
        object.__setattr__(self, "radius", float(self.radius))
        require_radius("Ball", self.radius)
        if not bool(self.center.isfinite().all()):
            raise ValueError("Ball: center must be finite, but holds an infinite entry")

    @property
    def shape(self) -> torch.Size:
        """The shape of one point."""
        return self.center.shape

    @property
    def is_bounded(self) -> bool:
        """Always."""
        return True

    def project(self, v: Tensor) -> Tensor:
        """Pull a point outside back along its radius; a point inside comes back unchanged."""
        offset = self.require_points(v) - self.center.to(v)
        length = self._length(offset)
        return torch.where(length <= self.radius, v, self.center.to(v) + offset * (self.radius / length))

    def centre(self, like: Tensor) -> Tensor:
        """The centre."""
        return self.center.to(like).clone()

    def support(self, direction: Tensor) -> Tensor:
        """The point of the sphere that the direction points to; the centre for a direction of zero."""
        length = self._length(self.require_points(direction))
        unit = torch.where(length > 0.0, direction / length, torch.zeros_like(direction))
        return self.center.to(direction) + self.radius * unit

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether the distance to the centre exceeds the radius by at most ``tolerance``."""
        length = self._length(self.require_points(v) - self.center.to(v))
        return length.reshape(v.shape[: v.dim() - len(self.shape)]) <= self.radius + tolerance

    def _length(self, offset: Tensor) -> Tensor:
        """The norm of each point, broadcastable; scaled first, as squares overflow float32 from 1e19 on."""
        dims = tuple(range(offset.dim() - len(self.shape), offset.dim()))
        if not dims:
            return offset.abs()
        largest = offset.abs().amax(dim=dims, keepdim=True)
        scale = torch.where(largest > 0.0, largest, torch.ones_like(largest))
        length: Tensor = scale * torch.linalg.vector_norm(offset / scale, dim=dims, keepdim=True)
        return length


@final
@dataclass(frozen=True)
class Space(ConvexSet):
    """All of R^n: for functions that have a maximum of their own."""

    n: int

    def __post_init__(self) -> None:
        """Check ``n``."""
        require_dimension("Space", self.n)

    @property
    def shape(self) -> torch.Size:
        """The shape of one point."""
        return torch.Size((self.n,))

    @property
    def is_bounded(self) -> bool:
        """Never."""
        return False

    def project(self, v: Tensor) -> Tensor:
        """Every point is its own projection."""
        return self.require_points(v)

    def centre(self, like: Tensor) -> Tensor:
        """The origin."""
        return like.new_zeros(self.shape)

    def support(self, direction: Tensor) -> Tensor:  # noqa: ARG002
        """Refused: a linear function has no maximiser."""
        raise ValueError(f"Space: a linear function has no maximiser over all of R^{self.n}")

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:  # noqa: ARG002
        """Whether the point is finite."""
        return self.require_points(v).isfinite().all(dim=-1)


def _bound(name: str, value: Tensor | float, owner: str = "Box") -> Tensor:
    """A bound as a floating point tensor without NaN."""
    bound = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=torch.float64)
    if not bound.is_floating_point():
        bound = bound.to(torch.float64)
    if bound.numel() == 0:
        raise ValueError(f"{owner}: {name} must have at least one entry, but has the shape {tuple(bound.shape)}")
    for index in bound.isnan().nonzero()[:1].tolist():
        raise ValueError(f"{owner}: {name} must not hold NaN, but {name}{index} is NaN")
    return bound.detach()
