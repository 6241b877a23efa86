"""The inner maximum ``max_{v in set} h(v)``: exact where the function allows it, to a stated accuracy otherwise.

What is exact, and how it is known:

- Few variables (up to `SMALL`) over a simplex, box, ball or all of R^n: Newton's method, with the quadratic model
  maximised exactly over the set. On a quadratic function the first step is the answer. That the function *is* its
  model is checked at a point far away; where it is not, a search over the set looks for a higher peak.
- Many variables: if the Hessian is ``-c I``, the answer is one projection, and if it is 0, one linear maximisation; the
  gap at the answer verifies it. Otherwise first-order ascent.

The error in the result is the Frank-Wolfe gap at the returned point; on unbounded sets, the rise that the curvature
still allows. The gap bounds ``max - value`` for every concave function. For others it certifies a local maximum only,
and the search speaks for the global one: in up to three dimensions a grid, beyond that scattered points and corners,
and none beyond `SMALL`. At a kink the gap does not vanish: there it is a bound, but not a sharp one.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.ascent import ascend
from idbpd.optim.convex_set import ConvexSet
from idbpd.optim.global_search import can_search, promising_starts
from idbpd.optim.inner_function import InnerFunction, Local, PointFunction
from idbpd.optim.newton_ascent import Ascended, Curvature, bend, newton_ascent
from idbpd.optim.optimality_gap import curved_gap, linear_gap, rounding
from idbpd.optim.quadratic_program import is_supported
from idbpd.optim.spectral_ascent import spectral_ascent

__all__ = ["Maximiser", "Maximum", "ascend", "maximise"]

SMALL = 50  # up to here Newton's method comes first: a Hessian costs as many gradients as there are variables
NEWTON_STEPS = 100  # a smooth function takes a few; one with kinks takes all there are, and its error says so
MEDIUM = 500  # up to here it comes to the rescue where first-order ascent has not arrived
RESCUE_STEPS = 15


class Maximum(NamedTuple):
    """A maximiser, its value and the estimated bound on what is missing to the maximum (both float64 scalars)."""

    point: Tensor
    value: Tensor
    error: Tensor


def maximise(
    function: PointFunction, over: ConvexSet, start: Tensor, *, accuracy: float = 1e-12, max_steps: int = 500
) -> Maximum:
    """Maximise ``function``, a scalar function of a point, over a set, from ``start``.

    ``accuracy`` is relative to the size of the values; 1e-12 costs little, as the methods are of second order or
    exact wherever they can be, and is never asked of a dtype beyond its precision. The result is never worse than
    ``start`` (projected onto the set). A function that is not finite there is returned as it is, with an infinite
    error.
    """
    return Maximiser(over, accuracy=accuracy, max_steps=max_steps)(function, start)


class Maximiser:
    """Maximises one function after another over one set, and remembers between calls what kind of function it is.

    What is remembered saves the search for structure, and is verified at each call. It changes the effort; the result,
    by rounding at most. ``calls`` counts the evaluations of all functions so far, a batch or a Hessian as one.
    """

    def __init__(self, over: ConvexSet, *, accuracy: float = 1e-12, max_steps: int = 500) -> None:
        """Maximise over ``over``."""
        if not accuracy > 0.0:
            raise ValueError(f"accuracy must be positive, but is {accuracy}")
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, but is {max_steps}")
        self._over = over
        self._accuracy = accuracy
        self._max_steps = max_steps
        self._curvature: Curvature | None = None  # of the last function of few variables, if it was a quadratic
        self._is_curvature_constant = True  # from one function to the next, until shown otherwise
        self._is_quadratic = True  # until shown otherwise
        self._is_batchable = True
        self._spherical: float | None = None  # c, where the last function of many variables had the Hessian -c I
        self._probes: Tensor | None = None
        self.calls = 0

    def __call__(self, function: PointFunction, start: Tensor) -> Maximum:
        """Maximise ``function`` from ``start``."""
        f = InnerFunction(function)
        try:
            return self._maximise(f, self._over.project(start.detach()))
        finally:
            self.calls += f.calls

    def _maximise(self, f: InnerFunction, start: Tensor) -> Maximum:
        if start.numel() <= SMALL and is_supported(self._over):
            known = self._curvature if self._is_curvature_constant else None
            found = self._climb(f, start, known or self._guess(f, start))
            if found is not None:
                self._is_curvature_constant &= known is None or found.curvature is known
                return self._globally(f, found)
        return self._with_many_variables(f, start)

    def _guess(self, f: InnerFunction, point: Tensor) -> Curvature | None:
        """The Hessian for the price of one of its columns, if it is ``-c I`` or 0; what is built on it is verified."""
        n = point.numel()
        c = _spherical_curvature(f, point) if self._is_quadratic and n > 3 else None
        return None if c is None else Curvature.of(-c * torch.eye(n, dtype=torch.float64))

    def _globally(self, f: InnerFunction, found: Ascended) -> Maximum:
        """Make sure of a local maximum: the function is a concave quadratic, or the search finds no better."""
        over = self._over
        if not math.isfinite(found.at.value):
            return _maximum(found.at.here, math.inf)
        if self._is_quadratic:
            if self._is_its_model(f, found):
                self._curvature = found.curvature
                if found.curvature.is_concave:
                    return _maximum(found.at.here, found.quality.error)
            elif self._curvature is not None:
                # The curvature of an earlier function: look at this one's own before calling it no quadratic.
                self._curvature = None
                hessian = f.second_order(found.at.here.point)[1]
                if hessian is not None and self._is_its_model(f, found._replace(curvature=Curvature.of(hessian))):
                    return self._globally(f, found._replace(curvature=Curvature.of(hessian)))
                self._is_quadratic = False
            else:
                self._is_quadratic = False
        best = found
        if can_search(over):
            for start in self._starts(f, found):
                other = self._climb(f, start, None)
                if other is not None and other.at.value > best.at.value:
                    best = other
        return _maximum(best.at.here, best.quality.error)

    def _climb(
        self, f: InnerFunction, start: Tensor, known: Curvature | None, max_steps: int = NEWTON_STEPS
    ) -> Ascended | None:
        max_steps = min(self._max_steps, max_steps)
        return newton_ascent(f, self._over, start, known, accuracy=self._accuracy, max_steps=max_steps)

    def _starts(self, f: InnerFunction, found: Ascended) -> list[Tensor]:
        point, value, margin = found.at.here.point, found.at.value, found.quality.tolerance
        if self._is_batchable:
            try:
                return promising_starts(f, self._over, point, value=value, margin=margin, batched=True)
            except Exception:  # it branches on its argument, say, or reads a number out of it; one by one it may do so
                self._is_batchable = False
        return promising_starts(f, self._over, point, value=value, margin=margin, batched=False)

    def _is_its_model(self, f: InnerFunction, found: Ascended) -> bool:
        """Whether the quadratic model at the maximiser gives the function's value at a point far from it."""
        at = found.at
        probe = self._probe(at.here.point)
        d = [pi - yi for pi, yi in zip(probe.flatten().tolist(), at.point, strict=True)]
        linear = sum(gi * di for gi, di in zip(at.gradient, d, strict=True))
        bent = 0.5 * bend(found.curvature.hessian, d)
        size = abs(at.value) + abs(linear) + abs(bent)
        small = torch.finfo(probe.dtype).eps ** 0.7  # 1e-11 in float64, 1e-5 in float32
        return bool(abs(float(f.value(probe)) - at.value - linear - bent) <= small * size)

    def _probe(self, point: Tensor) -> Tensor:
        """A point of the set far from ``point``, in no special position."""
        over = self._over
        if not over.is_bounded:
            return over.project(point + (1.0 + point.abs()) * _unstructured(point))
        if self._probes is None or self._probes.dtype != point.dtype or self._probes.device != point.device:
            v, centre = _unstructured(point), over.centre(point)
            self._probes = torch.stack([centre + 0.7 * (over.support(side) - centre) for side in (v, -v)])
        distances = (self._probes - point).reshape(2, -1).square().sum(dim=1)
        return self._probes[0 if bool(distances[0] > distances[1]) else 1]

    def _with_many_variables(self, f: InnerFunction, start: Tensor) -> Maximum:
        here = f.local(start)
        for attempt in range(2):
            if self._spherical is None or attempt:
                self._spherical = _spherical_curvature(f, start)
            if self._spherical is None:
                break
            ended = self._one_projection(f, here, self._spherical)
            if ended is not None:
                return ended
        self._spherical = None
        if not bool(here.value.isfinite()):
            return _maximum(here, math.inf)
        if not bool(
            here.gradient.isfinite().all()
        ):  # at the edge of the domain, perhaps: a little further in it may be
            inside = f.local(start + 0.1 * (self._over.centre(start) - start))
            if not bool(inside.value >= here.value) or not bool(inside.gradient.isfinite().all()):
                return _maximum(here, math.inf)
            here = inside
        best, gap = spectral_ascent(f, self._over, here, self._accuracy, self._max_steps)
        tolerance = self._accuracy * (best.value.abs() + gap.magnitude) + rounding(best, gap)
        if bool(gap.bound > tolerance) and start.numel() <= MEDIUM and is_supported(self._over):
            found = self._climb(f, best.point, None, max_steps=RESCUE_STEPS)
            if found is not None and found.at.value >= float(best.value - tolerance):
                return _maximum(found.at.here, found.quality.error)
        return Maximum(best.point, best.value, gap.bound)

    def _one_projection(self, f: InnerFunction, here: Local, c: float) -> Maximum | None:
        """The maximiser if the Hessian is ``-c I``; None if the gap at the point shows that it is not."""
        over = self._over
        if c == 0.0 and not over.is_bounded:
            return None
        point = over.project(here.point + here.gradient / c) if c > 0.0 else over.support(here.gradient)
        there = f.local(point)
        gap = linear_gap(over, there) if over.is_bounded else curved_gap(over, there, c)
        # The gradient is the difference of a constant and c y: it is known to a rounding of either.
        eps = torch.finfo(point.dtype).eps
        tolerance = self._accuracy * (there.value.abs() + gap.magnitude) + rounding(there, gap)
        tolerance = tolerance + 8.0 * eps * c * point.abs().amax().double()
        # The one place where the host waits for the device.
        if not bool((gap.bound <= tolerance) & (there.value >= here.value - tolerance) & there.value.isfinite()):
            return None
        return Maximum(there.point, there.value, gap.bound)


def _spherical_curvature(f: InnerFunction, point: Tensor) -> float | None:
    """The c for which the Hessian maps a direction v without structure to ``-c v``; None if there is none."""
    v = _unstructured(point)
    products = f.curvatures(point, [v])
    if products is None:
        return None
    c = -float((products[0].double() * v.double()).sum() / v.double().square().sum())
    rest = float((products[0].double() + c * v.double()).norm() / v.double().norm())
    small = 100.0 * torch.finfo(v.dtype).eps
    return c if c >= 0.0 and rest <= small * c else None


def _unstructured(like: Tensor) -> Tensor:
    """A direction that no function has a symmetry about."""
    k = torch.arange(1, like.numel() + 1, dtype=like.dtype, device=like.device)
    return torch.cos(1.7 * k * k + 0.3).reshape(like.shape)


def _maximum(here: Local, error: float) -> Maximum:
    return Maximum(here.point, here.value, torch.full_like(here.value, error))
