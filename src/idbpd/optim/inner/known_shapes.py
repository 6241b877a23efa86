"""The maximum of a function of a known shape: linear, quadratic, concave or convex."""

import math

import torch
from torch import Tensor

from idbpd.optim.inner.all_corners import corners_of, highest
from idbpd.optim.inner.gap import curved_gap, linear_gap
from idbpd.optim.inner.maximise import climb
from idbpd.optim.inner.quadratic_over_ball import over_ball
from idbpd.optim.inner.search import Answer, Best, Task
from idbpd.optim.sets import Ball, Box, Simplex


def maximise_linear(task: Task, best: Best) -> Answer | None:
    """A linear function: at a support point, or nowhere on a set without an end unless it is constant."""
    here = task.f.local(best.point)
    if not task.over.is_bounded:
        return best.exact() if bool((here.gradient == 0).all()) else None
    best.offer(task.over.support(here.gradient))
    return best.exact(float(linear_gap(task.over, task.f.local(best.point)).bound))


def maximise_quadratic(task: Task, best: Best) -> Answer | None:  # noqa: PLR0911 - one after another
    """A quadratic, by its Hessian."""
    f, over = task.f, task.over
    _, hessian = f.second_order(best.point)
    if hessian is None:
        return None
    H = hessian.cpu()
    if isinstance(over, Simplex):
        H = H - H.mean(0, keepdim=True)  # only directions that keep the sum count
        H = H - H.mean(1, keepdim=True)
    values = torch.linalg.eigvalsh(H)
    size = float(values.abs().amax())
    small = 1e-12 * size
    if float(values[-1]) <= small:
        return maximise_concave(task, best) if over.is_bounded else _strictly_concave(task, best, -float(values[-1]))
    if isinstance(over, Ball):
        found = over_ball(f, over, best.point)
        if found is None:
            return None
        best.offer(found.point)
        return best.exact(float(found.error))
    if isinstance(over, Box) and bool(((H - torch.diag(H.diagonal())).abs() <= 1e-15 * size).all()):
        return _separable_quadratic(task, best, hessian.diagonal())
    if float(values[0]) >= -small:
        return maximise_convex(task, best)
    return None


def _separable_quadratic(task: Task, best: Best, curvatures: Tensor) -> Answer | None:
    """A sum of quadratics of one variable each, over a box: each at one of its ends, or at its peak."""
    assert isinstance(task.over, Box)
    y = best.point.flatten().double()
    g = task.f.local(best.point).gradient.flatten().double()
    low, high = (bound.to(y).flatten() for bound in (task.over.low, task.over.high))
    peak = y + torch.where(curvatures < 0, -g / curvatures, 0.0)
    ends = torch.stack([low, high, peak.clamp(min=low, max=high)])
    rises = g * (ends - y) + 0.5 * curvatures * (ends - y).square()
    if not bool(rises.isfinite().all()):
        return None  # a side without an end
    chosen = ends.gather(0, rises.argmax(0, keepdim=True))[0]
    best.offer(task.over.project(chosen.to(best.point).reshape(best.point.shape)))
    return best.exact()


def maximise_concave(task: Task, best: Best) -> Answer | None:
    """A concave function: the gap at a point bounds what any other has more. On a set without an end there is none."""
    if not task.over.is_bounded:
        return None
    for _ in range(2):
        here = task.f.local(best.point)
        gap = float(linear_gap(task.over, here).bound) if bool(here.gradient.isfinite().all()) else math.inf
        if gap <= task.tolerance:
            return best.exact(gap)
        best.offer(climb(task.f, task.over, best.point).point)
    return None


def _strictly_concave(task: Task, best: Best, curvature: float) -> Answer | None:
    """A concave quadratic without an end: it rises by no more than its curvature allows."""
    if curvature <= 0.0:
        return None
    for _ in range(2):
        here = task.f.local(best.point)
        rise = float(curved_gap(task.over, here, curvature).bound)
        if rise <= task.tolerance:
            return best.exact(rise)
        best.offer(climb(task.f, task.over, best.point).point)
    return None


def maximise_convex(task: Task, best: Best) -> Answer | None:
    """A convex function: at a corner. None where the set has none, or too many."""
    corners = corners_of(task.over, best.point)
    if corners is None:
        return None
    best.offer(highest(task.f, corners)[0])
    return best.exact()
