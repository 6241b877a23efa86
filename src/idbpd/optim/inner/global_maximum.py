"""The global maximum of an inner function, and how it is known: what a certificate rests on.

It is asked for at the end of a run only, and where an answer is suspected. In this order, by what the operations of the
function show (`enclosure`):

1. linear, or a concave function: one maximiser is as high as any, and its gap is a true bound;
2. any quadratic over a ball; a convex function over a simplex or a box with few corners;
3. a function of few directions, or a sum over separate variables: the same for the parts;
4. few variables: branch and bound with intervals for the function, its gradient and its Hessian.

Whatever is left, and whatever has an operation without a rule, is looked at in many points: then the maximum is local.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.optim.device_reads import read
from idbpd.optim.enclosure.curvature import Shape, shape_of
from idbpd.optim.enclosure.degree import degree_of
from idbpd.optim.enclosure.enclose import NoRuleError, enclose
from idbpd.optim.enclosure.jets import Frame
from idbpd.optim.enclosure.tape import Tape, record
from idbpd.optim.inner.all_corners import corners_of, highest
from idbpd.optim.inner.branch_and_bound import Bounded, Domain, branch_and_bound, domain_of
from idbpd.optim.inner.fewer_variables import Reduced, along_few_directions, on_part, separate_parts
from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.inner.gap import curved_gap, linear_gap
from idbpd.optim.inner.maximise import climb
from idbpd.optim.inner.multistart import spread_points
from idbpd.optim.inner.quadratic_over_ball import over_ball
from idbpd.optim.knowledge import Known
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex

_MOST_FOR_HESSIAN = 500  # variables
_MOST_FOR_JETS = 30
_MOST_FOR_BOXES = 12
_BOXES = 20_000  # times the effort, per function
_PROBES = 5  # points at which a tape must give the function's own value
_STARTS = 200  # points looked at, times the effort, where nothing better is known
_CLIMBS = 4


class Task(NamedTuple):
    """A function to maximise over a set, and how hard to try."""

    f: InnerFunction
    over: ConvexSet
    tolerance: float  # to which the maximum is wanted
    effort: float


class Answer(NamedTuple):
    """The highest point found, and how it is known that there is none higher by more than ``error``."""

    point: Tensor
    value: float
    error: float
    known: Known


def global_maximum(task: Task, start: Tensor) -> Answer:
    """The maximum, looked for from a point of the set where an ascent has ended."""
    f, over, tolerance, _ = task
    best = _Best(f, start)
    if not math.isfinite(best.value):
        return Answer(start, best.value, math.inf, Known.LOCAL)
    # Rounding alone hides differences as small as this.
    eps = torch.finfo(start.dtype).eps
    task = task._replace(tolerance=max(tolerance, 64.0 * eps * (1.0 + abs(best.value))))
    tape = readable_tape(f, over, start)
    if tape is not None:
        try:
            answer = _by_structure(task, tape, best)
        except NoRuleError:
            answer = None
        if answer is not None:
            return answer
    best.climb_from(task, _many_points(task, start))
    return Answer(best.point, best.value, math.inf, Known.LOCAL)


class _Best:
    """The highest point so far."""

    def __init__(self, f: InnerFunction, point: Tensor) -> None:
        self._f, self.point, self.value = f, point, float(f.value(point))

    def offer(self, point: Tensor) -> None:
        """Take a point, if it is higher."""
        value = float(self._f.value(point))
        if value > self.value:
            self.point, self.value = point, value

    def climb_from(self, task: Task, points: Tensor) -> None:
        """Ascend from the highest of many points, and from the best one."""
        (values,) = read(self._f.values_somehow(points).nan_to_num(-math.inf, neginf=-math.inf))
        starts = [self.point, *(points[i] for i in values.argsort(descending=True)[:_CLIMBS].tolist())]
        for start in starts:
            self.offer(climb(self._f, task.over, task.over.project(start)).point)

    def exact(self, error: float = 0.0) -> Answer:
        """The best point as the maximum."""
        return Answer(self.point, self.value, max(error, 0.0), Known.EXACT)


def readable_tape(f: InnerFunction, over: ConvexSet, start: Tensor) -> Tape | None:
    """The operations of the function, if they give its values elsewhere, too: it may leave torch on the way."""
    tape = record(f.function, start)
    if tape is None:
        return None
    tape = tape.on_host()
    points = spread_points(over, start, _PROBES)
    flat = points.reshape(points.shape[0], -1).to("cpu", torch.float64)
    try:
        jet = enclose(tape, flat, flat, 0)
    except NoRuleError:
        return None
    own = f.values(points, batched=False).cpu()
    size = torch.maximum(own.abs(), torch.ones_like(own)) + jet.high[:, 0].abs()
    small = torch.finfo(start.dtype).eps ** 0.6 if start.dtype != torch.float64 else 1e-7
    is_same = (own - jet.high[:, 0]).abs() <= small * size
    return tape if bool((is_same | ~own.isfinite()).all()) else None


def _by_structure(task: Task, tape: Tape, best: _Best) -> Answer | None:
    """What the operations show; None where they show too little. May raise `NoRuleError`."""
    over = task.over
    n = best.point.numel()
    degree = degree_of(tape)
    if degree == 0:
        return best.exact()
    if degree == 1:
        return _linear(task, best)
    if degree == 2 and n <= _MOST_FOR_HESSIAN:
        answer = _quadratic(task, best)
        if answer is not None:
            return answer
    domain = domain_of(over)
    low, high = _around(over, best.point, domain)
    shape = shape_of(tape, low, high)
    if shape.is_concave or (over.is_bounded and n <= _MOST_FOR_JETS and _bends_down(tape, low, high)):
        answer = _concave(task, best)
        if answer is not None:
            return answer
    if shape.is_convex:
        answer = _convex(task, best)
        if answer is not None:
            return answer
    reduced = along_few_directions(tape, task.f.function, over, best.point)
    if reduced is not None:
        return _of_reduced(task, reduced, best)
    if isinstance(over, Box) and 1 < n <= _MOST_FOR_JETS:
        parts = separate_parts(tape, over)
        if len(parts) > 1:
            return _of_parts(task, parts, best)
    if domain is not None and domain.low.numel() <= _MOST_FOR_BOXES:
        return _by_boxes(task, tape, domain, best, shape)
    return None


def _around(over: ConvexSet, point: Tensor, domain: Domain | None) -> tuple[Tensor, Tensor]:
    """A box around the set, (n,) each end."""
    n = point.numel()
    if domain is not None and not isinstance(over, Simplex):
        return domain.low, domain.high
    if over.is_bounded:
        unit = torch.eye(n, dtype=point.dtype, device=point.device).reshape(n, *point.shape)
        ends = [over.support(side * unit).reshape(n, n).diagonal().cpu().double() for side in (-1.0, 1.0)] if n <= 2000 else None
        if ends is not None:
            return ends[0], ends[1]
        if hasattr(over, "are_distributions"):
            return torch.zeros(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
    whole = torch.full((n,), math.inf, dtype=torch.float64)
    return -whole, whole


def _linear(task: Task, best: _Best) -> Answer | None:
    here = task.f.local(best.point)
    if not task.over.is_bounded:
        return best.exact() if bool((here.gradient == 0).all()) else None
    best.offer(task.over.support(here.gradient))
    return best.exact(float(linear_gap(task.over, task.f.local(best.point)).bound))


def _quadratic(task: Task, best: _Best) -> Answer | None:
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
        return _concave(task, best) if over.is_bounded else _strictly_concave(task, best, -float(values[-1]))
    if isinstance(over, Ball):
        found = over_ball(f, over, best.point)
        if found is None:
            return None
        best.offer(found.point)
        return best.exact(float(found.error))
    if isinstance(over, Box) and bool(((H - torch.diag(H.diagonal())).abs() <= 1e-15 * size).all()):
        return _separable_quadratic(task, best, hessian.diagonal())
    if float(values[0]) >= -small:
        return _convex(task, best)
    return None


def _separable_quadratic(task: Task, best: _Best, curvatures: Tensor) -> Answer | None:
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


def _concave(task: Task, best: _Best) -> Answer | None:
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


def _strictly_concave(task: Task, best: _Best, curvature: float) -> Answer | None:
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


def _convex(task: Task, best: _Best) -> Answer | None:
    corners = corners_of(task.over, best.point)
    if corners is None:
        return None
    best.offer(highest(task.f, corners)[0])
    return best.exact()


def _bends_down(tape: Tape, low: Tensor, high: Tensor) -> bool:
    """Whether no Hessian over a box has a positive eigenvalue."""
    n = low.numel()
    frame = Frame(n, 2)
    bends = enclose(tape, low.unsqueeze(0), high.unsqueeze(0), 2).bends(frame)
    if not bool(bends.low.isfinite().all() & bends.high.isfinite().all()):
        return False
    rows, columns = frame.pairs
    centre, spread = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, n, dtype=torch.float64)
    for matrix, flat in ((centre, (bends.low + bends.high) / 2), (spread, (bends.high - bends.low) / 2)):
        matrix[rows, columns] = flat[0]
        matrix[columns, rows] = flat[0]
    return float(torch.linalg.eigvalsh(centre)[-1]) + float(spread.sum(1).amax()) <= 0.0


def _of_reduced(task: Task, reduced: Reduced, best: _Best) -> Answer:
    inner = task._replace(f=InnerFunction(reduced.function), over=reduced.over)
    start = reduced.over.centre(best.point)
    found = global_maximum(inner, start)
    best.offer(task.over.project(reduced.point(found.point)))
    # The best known point may be higher than that of the reduced function, by rounding.
    upper = found.value + found.error
    return Answer(best.point, best.value, max(0.0, upper - best.value), found.known)


def _of_parts(task: Task, parts: list[list[int]], best: _Best) -> Answer:
    """The maximum over each part of the variables."""
    assert isinstance(task.over, Box)
    at, known, error = best.point, Known.EXACT, 0.0
    for part in parts:
        reduced = on_part(task.f.function, task.over, at, part)
        start = at.flatten()[part]
        inner = Task(InnerFunction(reduced.function), reduced.over, task.tolerance / len(parts), task.effort)
        found = global_maximum(inner, start)
        at = task.over.project(reduced.point(found.point))
        known, error = known.weaker(found.known), error + found.error
    best.offer(at)
    return Answer(best.point, best.value, error, known)


def _by_boxes(task: Task, tape: Tape, domain: Domain, best: _Best, shape: Shape) -> Answer | None:
    """Branch and bound. A concave function, at a kink say, has a bound even where boxes run out."""
    like = best.point
    if domain.is_simplex:
        original, last = task.f.function, like.new_ones(1)

        def function(v: Tensor) -> Tensor:
            return original(torch.cat([v, last - v.sum(-1, keepdim=True)]))

        tape_found = record(function, like[:-1])
        if tape_found is None:
            return None
        tape = tape_found.on_host()

    def outward(v: Tensor) -> Tensor:
        flat = torch.cat([v, 1.0 - v.sum(0, keepdim=True)]) if domain.is_simplex else v
        return task.over.project(flat.to(like).reshape(like.shape))

    def inward(point: Tensor) -> Tensor:
        flat = point.flatten().to("cpu", torch.float64)
        return flat[:-1] if domain.is_simplex else flat

    def uphill(v: Tensor) -> Tensor:
        return inward(climb(task.f, task.over, outward(v)).point)

    best.climb_from(task, spread_points(task.over, like, 16))
    budget = int(_BOXES * task.effort)
    found: Bounded = branch_and_bound(tape, domain, inward(best.point), task.tolerance, budget, uphill)
    best.offer(outward(found.point))
    error = max(found.upper - best.value, 0.0)
    rounding = 64.0 * torch.finfo(like.dtype).eps * (1.0 + abs(best.value))
    if error > task.tolerance + rounding and not shape.is_concave:
        return Answer(best.point, best.value, math.inf, Known.LOCAL)
    return Answer(best.point, best.value, error, Known.GLOBAL)


def _many_points(task: Task, like: Tensor) -> Tensor:
    points = spread_points(task.over, like, int(_STARTS * task.effort))
    corners = corners_of(task.over, like, most_axes=8)
    return points if corners is None else torch.cat([points, corners])
