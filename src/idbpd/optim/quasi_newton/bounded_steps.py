"""The minimiser of the model of a step within bounds on x: variables held at bounds, the others free in the metric.

    min over d of  the model + 1/(2t) <d, B d>    subject to    low <= x + d <= high,        B = H^{-1}

By primal-dual active sets: solve with some variables held at a bound; hold those that leave it, free those that no
longer press against theirs; and again, until nothing changes. However many bounds there are, the dual keeps one unknown
per row of the model: of the bounds, only the inverse of B on the free variables knows, and that is a system of twice
the pairs of L-BFGS (Byrd, Nocedal, Schnabel 1994). A round costs O(m^2 d) for m pairs and d variables, few are needed.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.bounds import Bounds
from idbpd.optim.device_reads import read
from idbpd.optim.quasi_newton.lbfgs import Metric

# Of corrections in both directions; from then on variables are only held, so that it ends. On the
# bank one is enough in nine of ten cases, and four in all but one.
ROUNDS = 12
_MOST_ROUNDS = 60  # if even that goes on: the step is then cut off at the bounds, and the search judges it
ROUNDING = 64 * torch.finfo(torch.float64).eps  # share of two terms that cancel: what presses less presses nothing

Dual = Callable[[Tensor, Tensor], Tensor]  # from inner products and values of the rows, to their weights


class BoundedStep(NamedTuple):
    """The minimiser d, and what it is made of."""

    weights: Tensor  # (rows,) on the host
    d: Tensor  # (d,)
    pull: Tensor  # -B d / t: the gradient of the Lagrangian without what the bounds hold
    gram: Tensor  # (rows, rows) on the host: inner products of the gradients in the metric of the free variables
    change: Tensor  # (rows,) on the host: <grad, d>
    bent: float  # <d, B d> / 2t


class Held(NamedTuple):
    """Which variables are held at a bound."""

    at_low: Tensor
    at_high: Tensor

    def same(self, other: "Held") -> bool:
        """Whether both hold the same variables at the same bounds."""
        return bool(((self.at_low == other.at_low) & (self.at_high == other.at_high)).all())


class _Face(NamedTuple):
    """The free variables' part of the metric."""

    is_free: Tensor
    inner: Tensor | None  # the small system; None where there are no pairs
    rows: Tensor  # (rows, d) the gradients in the metric
    gram: Tensor  # (rows, rows) on the host


class BoundedSteps:
    """Steps from a point within bounds. It remembers which variables were held, as the next step will hold most."""

    def __init__(self, x: Tensor, bounds: Bounds, metric: Metric, gradients: Tensor, pressing: Tensor) -> None:
        """``gradients`` (rows, d) are those of the model, ``pressing`` (d,) is the gradient of the Lagrangian."""
        self.bounds = bounds
        self._low, self._high = ((bound - x).double() for bound in bounds)
        self._noise = 4 * torch.finfo(x.dtype).eps * x.abs().double()
        self._gradients = gradients.double()
        S, Y = metric.steps.double(), metric.changes.double()
        self._metric, self._scale = metric._replace(steps=S, changes=Y), metric.scale
        self._basis = torch.cat([S / self._scale, Y])
        lower = metric.cross.tril(-1)
        upper = torch.cat([S @ S.T / self._scale, lower], dim=1)
        self._middle = torch.cat([upper, torch.cat([lower.T, -torch.diag(metric.cross.diagonal())], dim=1)])
        sides = bounds.sides(x)
        self._held = Held(sides.at_low & (pressing > 0), sides.at_high & (pressing < 0))
        self._face: tuple[Held, _Face] | None = None

    def minimise(self, t: float, values: Tensor, dual: Dual) -> BoundedStep:
        """The step for a length of arc ``t`` and the rows' ``values``, on the host."""
        held = self._held
        for rounds in range(_MOST_ROUNDS):
            d, weights, gram = self._on_face(t, values, dual, held)
            pressing = weights.to(d) @ self._gradients
            is_free = ~(held.at_low | held.at_high)
            # Where nothing is held, d = -t H v, and B d is known without B.
            bend = -pressing if bool(is_free.all()) else self._curved(d) / t
            slack = ROUNDING * (pressing.abs() + bend.abs())
            pressing = pressing + bend
            may_leave = rounds < ROUNDS
            following = Held(
                (is_free & (d < self._low - self._noise)) | (held.at_low & ((pressing > -slack) | (not may_leave))),
                (is_free & (d > self._high + self._noise)) | (held.at_high & ((pressing < slack) | (not may_leave))),
            )
            if following.same(held):
                break
            held = following
        self._held = held
        inside = d.clamp(min=self._low, max=self._high)
        if not bool((inside == d).all()):
            d, bend = inside, self._curved(inside) / t
        change, bent = read(self._gradients @ d, 0.5 * d @ bend)
        return BoundedStep(weights, d, -bend, gram, change, float(bent))

    def moved(self, x: Tensor, step: BoundedStep) -> Tensor:
        """``x`` after a step, exactly at the bounds that the step meets."""
        low, high = self.bounds
        there = (x + step.d.to(x)).clamp(min=low, max=high)
        return torch.where(step.d <= self._low, low, torch.where(step.d >= self._high, high, there))

    def _on_face(self, t: float, values: Tensor, dual: Dual, held: Held) -> tuple[Tensor, Tensor, Tensor]:
        """The minimiser with some variables held, its weights and the inner products that gave them."""
        face = self._face_of(held)
        at_bounds = torch.where(held.at_low, self._low, torch.where(held.at_high, self._high, 0.0))
        # What the held variables do to the gradient of the others through B.
        moved = torch.zeros_like(at_bounds)
        if bool((at_bounds != 0).any()):
            bent = torch.where(face.is_free, self._curved(at_bounds) / t, 0.0)
            moved = self._inverse(face.is_free, face.inner, bent.unsqueeze(0))[0]
        (shift,) = read(self._gradients @ (at_bounds - t * moved))
        weights = dual(face.gram, values + shift)
        return at_bounds - t * (weights.to(moved) @ face.rows + moved), weights, face.gram

    def _face_of(self, held: Held) -> _Face:
        if self._face is not None and self._face[0].same(held):
            return self._face[1]
        is_free = ~(held.at_low | held.at_high)
        inner, is_whole = None, bool(is_free.all())
        if self._middle.numel() and not is_whole:
            basis = torch.where(is_free, self._basis, 0.0)
            inner = self._middle - self._scale * (basis @ basis.T)
        rows = self._metric.apply(self._gradients) if is_whole else self._inverse(is_free, inner, self._gradients)
        gram = rows @ self._gradients.T
        face = _Face(is_free, inner, rows, read((gram + gram.T) / 2)[0])
        self._face = (held, face)
        return face

    def _curved(self, v: Tensor) -> Tensor:
        """B v."""
        plain = v / self._scale
        if not self._middle.numel():
            return plain
        solved: Tensor = torch.linalg.solve_ex(self._middle, self._basis @ v)[0]
        return plain - solved @ self._basis

    def _inverse(self, is_free: Tensor, inner: Tensor | None, vectors: Tensor) -> Tensor:
        """The inverse of B on the free variables times each row, zero elsewhere."""
        free = torch.where(is_free, vectors, 0.0)
        if inner is None:
            return self._scale * free
        basis = torch.where(is_free, self._basis, 0.0)
        solved: Tensor = torch.linalg.solve_ex(inner, basis @ free.T)[0]
        return self._scale * free + self._scale.square() * (solved.T @ basis)
