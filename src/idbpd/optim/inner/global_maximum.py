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

import torch
from torch import Tensor

from idbpd.optim.enclosure.curvature import Shape, shape_of
from idbpd.optim.enclosure.degree import degree_of
from idbpd.optim.enclosure.enclose import enclose
from idbpd.optim.enclosure.jets import Frame
from idbpd.optim.enclosure.known_jets import NoRuleError
from idbpd.optim.enclosure.tape import Tape, record
from idbpd.optim.inner.all_corners import corners_of
from idbpd.optim.inner.branch_and_bound import Bounded, Domain, branch_and_bound, domain_of
from idbpd.optim.inner.factors import on_factor, replaced
from idbpd.optim.inner.fewer_variables import Reduced, along_few_directions, on_part, separate_parts
from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.inner.known_shapes import maximise_concave, maximise_convex, maximise_linear, maximise_quadratic
from idbpd.optim.inner.multistart import spread_points
from idbpd.optim.inner.search import Answer, Best, Task
from idbpd.optim.knowledge import Known
from idbpd.optim.sets import Box, ConvexSet, Product, Simplex
from idbpd.optim.sets.base import DistributionSet

_MOST_FOR_HESSIAN = 500  # variables: a Hessian takes as many gradients, its eigenvalues 0.03 s
_MOST_FOR_JETS = 30  # variables of second derivatives by intervals: 465 entries for every number of the function
_MOST_SUPPORTS = 2_000  # points of a set that are asked for to put a box around it: as many squared in memory
_MOST_FOR_BOXES = 12  # variables: to halve each once makes 4096 boxes
_BOXES = 20_000  # times the effort, per function: a few seconds, with `_WORK`
_WORK = 2e7  # numbers computed for boxes, times the effort: about two seconds
_PROBES = 5  # points at which a tape must give the function's own value: another function agrees at none
_STARTS = 200  # points looked at, times the effort, where nothing better is known: the answer is LOCAL anyway


def global_maximum(task: Task, start: Tensor) -> Answer:
    """The maximum, looked for from a point of the set where an ascent has ended."""
    f, over, tolerance = task.f, task.over, task.tolerance
    best = Best(f, start)
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


def _by_structure(task: Task, tape: Tape, best: Best) -> Answer | None:  # noqa: PLR0911, PLR0912 - one after another
    """What the operations show; None where they show too little. May raise `NoRuleError`."""
    over = task.over
    n = best.point.numel()
    degree = degree_of(tape)
    if degree == 0:
        return best.exact()
    if degree == 1:
        return maximise_linear(task, best)
    if degree == 2 and n <= _MOST_FOR_HESSIAN:
        answer = maximise_quadratic(task, best)
        if answer is not None:
            return answer
    if isinstance(over, Product) and n <= _MOST_FOR_JETS and over.is_bounded and _is_sum(tape, over, best.point):
        return _over_factors(task, over, best)
    domain = domain_of(over)
    low, high = _around(over, best.point, domain)
    shape = shape_of(tape, low, high)
    if shape.is_concave or (over.is_bounded and n <= _MOST_FOR_JETS and _bends_down(tape, low, high)):
        answer = maximise_concave(task, best)
        if answer is not None:
            return answer
    if shape.is_convex:
        answer = maximise_convex(task, best)
        if answer is not None:
            return answer
    reduced = along_few_directions(tape, task.f.function, over, best.point)
    if reduced is not None:
        return _of_reduced(task, reduced, best)
    if isinstance(over, Box) and 1 < n <= _MOST_FOR_JETS:
        parts = separate_parts(tape, low, high)
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
        if isinstance(over, DistributionSet):
            return torch.zeros(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)
        if n <= _MOST_SUPPORTS:
            unit = torch.eye(n, dtype=point.dtype, device=point.device).reshape(n, *point.shape)
            low, high = (over.support(side * unit).reshape(n, n).diagonal().cpu().double() for side in (-1.0, 1.0))
            return low, high
    whole = torch.full((n,), math.inf, dtype=torch.float64)
    return -whole, whole


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


def _of_reduced(task: Task, reduced: Reduced, best: Best) -> Answer:
    inner = task._replace(f=InnerFunction(reduced.function), over=reduced.over, ascend=None)
    start = reduced.over.centre(best.point)
    found = global_maximum(inner, start)
    best.offer(task.over.project(reduced.point(found.point)))
    # The best known point may be higher than that of the reduced function, by rounding.
    upper = found.value + found.error
    return Answer(best.point, best.value, max(0.0, upper - best.value), found.known)


def _of_parts(task: Task, parts: list[list[int]], best: Best) -> Answer:
    """The maximum over each part of the variables."""
    assert isinstance(task.over, Box)
    at, known, error = best.point, Known.EXACT, 0.0
    for part in parts:
        reduced = on_part(task.f.function, task.over, at, part)
        start = at.flatten()[part]
        inner = task._replace(f=InnerFunction(reduced.function), over=reduced.over, enough=math.inf, ascend=None)
        inner = inner._replace(tolerance=task.tolerance / len(parts))
        found = global_maximum(inner, start)
        at = task.over.project(reduced.point(found.point))
        known, error = known.weaker(found.known), error + found.error
    best.offer(at)
    return Answer(best.point, best.value, error, known)


def _is_sum(tape: Tape, over: Product, like: Tensor) -> bool:
    """Whether the function is a sum of one function of the variables of each factor."""
    owner = [number for number, factor in enumerate(over.factors) for _ in range(factor.dimension)]
    return all(len({owner[i] for i in part}) == 1 for part in separate_parts(tape, *_around(over, like, None)))


def _over_factors(task: Task, over: Product, best: Best) -> Answer:
    """The maximum over each factor."""
    at, known, error = best.point, Known.EXACT, 0.0
    for number, factor in enumerate(over.factors):
        function = InnerFunction(on_factor(task.f.function, over, at, number))
        inner = task._replace(f=function, over=factor, enough=math.inf, ascend=None)
        inner = inner._replace(tolerance=task.tolerance / len(over.factors))
        found = global_maximum(inner, over.split(at)[number])
        at = replaced(over, at, number, found.point)
        known, error = known.weaker(found.known), error + found.error
    best.offer(over.project(at))
    return Answer(best.point, best.value, error, known)


def _by_boxes(task: Task, tape: Tape, domain: Domain, best: Best, shape: Shape) -> Answer | None:
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
        return inward(task.uphill(outward(v)))

    best.climb_from(task, spread_points(task.over, like, 16), climbs=1)
    numbers = Frame(domain.low.numel(), 2).size * sum(shape.numel() for one in tape.operations for shape in one.shapes)
    budget = int(task.effort * min(_BOXES, 1 + _WORK / numbers))
    found: Bounded = branch_and_bound(
        tape, domain, inward(best.point), task.tolerance, budget, uphill, task.enough, task.deadline
    )
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
