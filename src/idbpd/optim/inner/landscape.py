"""A function over a set as Newton's method sees it: in numbers, however the function itself is computed."""

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, number, read
from idbpd.optim.inner.function import InnerFunction, Local
from idbpd.optim.sets import Box, ConvexSet


class Visited(NamedTuple):
    """A point of the set that was evaluated, in numbers; ``here`` are the tensors that they were read from, if any."""

    point: list[float]
    value: float
    gradient: list[float]
    here: Local | None = None

    @property
    def is_finite(self) -> bool:
        """Whether an ascent can go on from here."""
        return math.isfinite(self.value) and all(map(math.isfinite, self.gradient))


class Curvature(NamedTuple):
    """A Hessian, and the positive definite matrix that the model is built with: minus the Hessian, made concave."""

    hessian: Tensor | None  # (n, n), float64, where it was computed as a tensor
    model: Tensor | None  # (n, n), float64, on the host; None where it has a diagonal only
    diagonal: list[float] | None  # of the model, where there is nothing else in it
    size: float  # the largest eigenvalue in absolute value; 0 for a linear function, NaN where there is no Hessian
    is_concave: bool
    is_definite: bool  # concave, and flat in no direction

    @classmethod
    def of(cls, rows: list[list[float]]) -> "Curvature":
        """Reverse the sign of upward curvature, as an ascent leaves such directions, and lift flat ones a little."""
        if not all(math.isfinite(one) for row in rows for one in row):
            return cls(None, None, None, math.nan, is_concave=False, is_definite=False)
        diagonal = [-row[i] for i, row in enumerate(rows)]
        is_diagonal = all(one == 0.0 for i, row in enumerate(rows) for j, one in enumerate(row) if i != j)
        model = vectors = None
        values = diagonal
        if not is_diagonal:
            model = -torch.tensor(rows, dtype=torch.float64)
            eigenvalues, vectors = torch.linalg.eigh(model)
            values = eigenvalues.tolist()
        smallest, size = min(values), max(map(abs, values))
        floor = 1e-10 * size
        lifted = [max(abs(one), floor) for one in values]
        if vectors is not None and smallest < floor:
            model = vectors @ torch.diag(torch.tensor(lifted, dtype=torch.float64)) @ vectors.T
        is_definite = size > 0.0 and smallest >= floor
        return cls(None, model, lifted if is_diagonal else None, size, smallest >= -floor, is_definite)

    def bend(self, d: list[float]) -> float:
        """``d.M d`` for the matrix M of the model."""
        if self.diagonal is not None:
            return sum(a * di * di for a, di in zip(self.diagonal, d, strict=True))
        step = torch.tensor(d, dtype=torch.float64)
        return math.nan if self.model is None else float(step @ self.model @ step)


class Landscape(ABC):
    """A function over a set."""

    def __init__(self, over: ConvexSet, like: Tensor) -> None:
        """Points are given as lists, and are of the kind of ``like``."""
        self.over, self.like = over, like
        self.eps = torch.finfo(like.dtype).eps
        self._is_plain = isinstance(over, Box) and is_here(like) and like.dtype == torch.float64

    @abstractmethod
    def visit(self, flat: list[float]) -> Visited:
        """The nearest point of the set, evaluated."""

    @abstractmethod
    def examine(self, at: Visited) -> tuple[Visited, Curvature | None]:
        """The same point with its curvature, None where there is no second derivative."""

    @cached_property
    def bounds(self) -> list[tuple[float, float]] | None:
        """The bounds of every coordinate of a box."""
        return bounds_of(self.over) if isinstance(self.over, Box) else None

    def tensor(self, flat: list[float]) -> Tensor:
        """A point as a tensor."""
        return torch.tensor(flat, dtype=torch.float64).to(self.like).reshape(self.like.shape)

    def project(self, flat: list[float]) -> list[float]:
        """The nearest point of the set."""
        if self._is_plain and self.bounds is not None:
            return [min(max(one, low), high) for one, (low, high) in zip(flat, self.bounds, strict=True)]
        return numbers(self.over.project(self.tensor(flat)))

    def support(self, at: Visited) -> list[float]:
        """A maximiser of the linear function with the gradient of a point."""
        if self._is_plain and self.bounds is not None:
            return [high if g > 0.0 else low for g, (low, high) in zip(at.gradient, self.bounds, strict=True)]
        return numbers(self.over.support(self.tensor(at.gradient)))


class TensorLandscape(Landscape):
    """Of a function that autograd differentiates."""

    def __init__(self, f: InnerFunction, over: ConvexSet, like: Tensor) -> None:
        """The function ``f`` over the set, at points like ``like``."""
        super().__init__(over, like)
        self._f = f

    def visit(self, flat: list[float]) -> Visited:
        """The nearest point of the set, evaluated."""
        return _visited(self._f.local(self.over.project(self.tensor(flat))))

    def examine(self, at: Visited) -> tuple[Visited, Curvature | None]:
        """The same point with its curvature."""
        return self.begin(self.tensor(at.point) if at.here is None else at.here.point)

    def begin(self, start: Tensor) -> tuple[Visited, Curvature | None]:
        """A point of the set, and its curvature."""
        here, hessian = self._f.second_order(start)
        if hessian is None:
            return _visited(here), None
        return _visited(here), Curvature.of(hessian.cpu().tolist())._replace(hessian=hessian)


def bounds_of(box: Box) -> list[tuple[float, float]]:
    """The bounds of every coordinate."""
    low, high = (box.low, box.high) if is_here(box.low) and is_here(box.high) else read(box.low, box.high)
    return list(zip(low.flatten().tolist(), high.flatten().tolist(), strict=True))


def numbers(tensor: Tensor) -> list[float]:
    """The numbers of a tensor on any device."""
    found: list[float] = read(tensor)[0].flatten().tolist()
    return found


def _visited(here: Local) -> Visited:
    point, value, gradient = read(here.point, here.value, here.gradient)
    return Visited(point.flatten().tolist(), number(value), gradient.flatten().tolist(), here)
