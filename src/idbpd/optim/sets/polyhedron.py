"""A polyhedron inside of a box, by its inequalities. It knows its corners, so that linear and convex functions have
exact maxima over it.
"""

from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor

from idbpd.optim.qp.active_set import minimise_on_orthant
from idbpd.optim.sets.base import ConvexSet
from idbpd.optim.sets.basic import Box

_MOST_AXES = 12  # of the box: 4096 corners to begin with
_MOST_CORNERS = 20_000  # on the way: more would take longer than the problem
_SAME = 1e-9  # distance, in units of the box, below which two corners are one, and a corner is on a side


@final
@dataclass(frozen=True, eq=False)
class Polyhedron(ConvexSet):
    """The points w with ``A w <= b`` and ``low <= w <= high``.

    >>> half = Polyhedron(torch.ones(1, 2), torch.ones(1), low=0.0, high=1.0)
    >>> half.project(torch.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    A: Tensor
    b: Tensor
    box: Box
    corners: Tensor = field(repr=False)  # (count, n) float64, on the host
    rows: Tensor = field(repr=False)  # all inequalities, those of the box last; float64, on the host
    limits: Tensor = field(repr=False)

    def __init__(self, A: Tensor, b: Tensor, low: Tensor | float, high: Tensor | float) -> None:
        """Check the inequalities, and find all corners."""
        if not isinstance(A, Tensor) or not isinstance(b, Tensor) or A.dim() != 2 or b.shape != A.shape[:1]:
            shapes = " and ".join(str(tuple(one.shape)) if isinstance(one, Tensor) else repr(one) for one in (A, b))
            raise ValueError(f"Polyhedron: A must have the shape (m, n) and b (m,), but they are {shapes}")
        n = A.shape[1]
        if not bool(A.isfinite().all()) or not bool(b.isfinite().all()):
            raise ValueError("Polyhedron: A and b must be finite")
        ends = [torch.as_tensor(end, dtype=torch.float64).detach().cpu() for end in (low, high)]
        for name, end in zip(("low", "high"), ends, strict=True):
            if end.dim() > 0 and end.shape != (n,):
                raise ValueError(
                    f"Polyhedron: {name} must be a number or have the shape ({n},), not {tuple(end.shape)}"
                )
        box = Box(*(end.expand(n).clone() for end in ends))
        if not box.is_bounded:
            raise ValueError("Polyhedron: low and high must be finite: they say where the polyhedron ends")
        if n > _MOST_AXES:
            raise ValueError(f"Polyhedron: at most {_MOST_AXES} variables, as its corners are all found, not {n}")
        rows, limits = A.detach().cpu().double(), b.detach().cpu().double()
        eye = torch.eye(n, dtype=torch.float64)
        object.__setattr__(self, "A", A.detach())
        object.__setattr__(self, "b", b.detach())
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "rows", torch.cat([rows, eye, -eye]))
        object.__setattr__(self, "limits", torch.cat([limits, box.high, -box.low]))
        object.__setattr__(self, "corners", _corners(rows, limits, box))

    @property
    def shape(self) -> torch.Size:
        """The shape of one point."""
        return self.box.shape

    @property
    def is_bounded(self) -> bool:
        """Always."""
        return True

    def project(self, v: Tensor) -> Tensor:
        """The nearest point, by the dual quadratic program; a point inside comes back unchanged."""
        points = self.require_points(v).detach().reshape(-1, self.dimension).cpu().double()
        gram = self.rows @ self.rows.T
        found = []
        for point in points:
            excess = self.rows @ point - self.limits
            if bool((excess <= 0).all()):
                found.append(point)
                continue
            prices = minimise_on_orthant(gram, -excess)
            found.append((point - prices @ self.rows).clamp(min=self.box.low, max=self.box.high))
        return torch.stack(found).to(v).reshape(v.shape)

    def centre(self, like: Tensor) -> Tensor:
        """The mean of the corners."""
        return self.corners.mean(0).to(like)

    def support(self, direction: Tensor) -> Tensor:
        """The best corner."""
        corners = self.corners.to(direction)
        return corners[(self.require_points(direction) @ corners.T).argmax(dim=-1)]

    def contains(self, v: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether no inequality is exceeded by more than ``tolerance``."""
        return (self.require_points(v) @ self.rows.to(v).T <= self.limits.to(v) + tolerance).all(dim=-1)


def _corners(rows: Tensor, limits: Tensor, box: Box) -> Tensor:
    """All corners, by cutting the box with one half-space after another (double description)."""
    n = box.dimension
    low, width = box.low.double(), (box.high - box.low).double()
    # In units of the box. A coordinate without width has one corner only.
    unit = torch.where(width > 0, width, 1.0)
    axes = (width > 0).nonzero().flatten()
    bits = (torch.arange(2 ** axes.numel()).unsqueeze(1) >> torch.arange(axes.numel())) & 1
    corners = torch.zeros(bits.shape[0], n, dtype=torch.float64)
    corners[:, axes] = bits.double()
    sides = torch.cat([corners >= 1.0, corners <= 0.0], dim=1)
    for number, (row, limit) in enumerate(zip(rows * unit, limits - rows @ low, strict=True)):
        size = torch.linalg.vector_norm(row)
        if float(size) == 0.0:
            if float(limit) < 0:
                raise ValueError(f"Polyhedron: row {number} of A is zero and b is {float(limit)}: no point meets it")
            continue
        excess = (corners @ row - limit) / size
        inside, outside = (excess < -_SAME).nonzero().flatten(), (excess > _SAME).nonzero().flatten()
        kept = excess <= _SAME
        if not bool(kept.any()):
            raise ValueError(f"Polyhedron: no point of the box meets the first {number + 1} rows of A w <= b")
        new, new_sides = _cut(corners, sides, excess, inside, outside, axes.numel())
        on_row = torch.cat([(excess.abs() <= _SAME)[kept], torch.ones(new.shape[0], dtype=torch.bool)])
        corners = torch.cat([corners[kept], new])
        sides = torch.cat([torch.cat([sides[kept], new_sides]), on_row.unsqueeze(1)], dim=1)
        if corners.shape[0] > _MOST_CORNERS:
            raise ValueError(f"Polyhedron: more than {_MOST_CORNERS} corners; use fewer variables or rows")
    return (low + unit * corners).clamp(min=box.low, max=box.high)


def _cut(
    corners: Tensor, sides: Tensor, excess: Tensor, inside: Tensor, outside: Tensor, axes: int
) -> tuple[Tensor, Tensor]:
    """The corners where a cut meets the edges from corners inside to corners outside, and the sides they are on."""
    held = sides.double()
    common = held[inside] @ held[outside].T
    pairs = (common >= axes - 1).nonzero().tolist()
    points, on = [], []
    for i, j in pairs:
        one, other = int(inside[i]), int(outside[j])
        shared = sides[one] & sides[other]
        # An edge has no third corner on all of its sides.
        if int((sides[:, shared].all(dim=1)).sum()) > 2:
            continue
        share = excess[one] / (excess[one] - excess[other])
        points.append(corners[one] + share * (corners[other] - corners[one]))
        on.append(shared)
    if not points:
        return corners[:0], sides[:0]
    return torch.stack(points), torch.stack(on)
