"""The terms of a problem, and what its user says about them: tested before it is believed."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from idbpd.optim.inner.function import InnerFunction, Maximum
from idbpd.optim.inner.gap import linear_gap
from idbpd.optim.inner.global_maximum import global_maximum
from idbpd.optim.inner.maximise import climb
from idbpd.optim.inner.multistart import spread_points
from idbpd.optim.inner.search import Answer, Task
from idbpd.optim.knowledge import Known
from idbpd.optim.problem import Function, Problem
from idbpd.optim.scaling import Scaling
from idbpd.optim.sets import ConvexSet, Product

_PAIRS = 64  # of points between which concavity is tested: a test of a word, no proof, so that it may be short


class Term(NamedTuple):
    """The objective or a constraint."""

    name: str
    function: Function
    over: ConvexSet | None
    concave: bool = False  # in y or w, by the word of the user
    maximise: Callable[[Any], Tensor] | None = None  # the user's own maximiser


def terms_of(problem: Problem, scaling: Scaling) -> list[Term]:
    """All terms, the objective first, each multiplied by its factor."""
    objective = _times(scaling.objective, problem.objective)
    terms = [Term("objective", objective, _simplified(problem.over), problem.concave, problem.maximise)]
    for i, one in enumerate(problem.constraints):
        psi = _times(scaling.factor(i), one.psi)
        terms.append(Term(f"constraints[{i}].psi", psi, _simplified(one.over), one.concave, one.maximise))
    return terms


def _simplified(over: ConvexSet | None) -> ConvexSet | None:
    return over.simplified() if isinstance(over, Product) else over


def _times(factor: float, function: Function) -> Function:
    return function if factor == 1.0 else lambda *args: factor * function(*args)


def stated_maximum(name: str, f: InnerFunction, over: ConvexSet, point: object, like: Tensor) -> Maximum:
    """What the user's own maximiser returns, after a check that it is a point of the set."""
    if not isinstance(point, Tensor) or point.shape != over.shape:
        found = tuple(point.shape) if isinstance(point, Tensor) else type(point).__name__
        raise ValueError(f"maximise of {name} must return a point of shape {tuple(over.shape)}, got {found}")
    point = point.detach().to(like)
    size = 1.0 + float(point.abs().amax())
    if not bool(over.contains(point, tolerance=1e-6 * size)):
        raise ValueError(f"maximise of {name} must return a point of the set, but it is outside of {over}")
    point = over.project(point)
    value = f.value(point)
    return Maximum(point, value, torch.zeros_like(value))


def verified(term: Term, task: Task, start: Tensor) -> tuple[Answer, str]:
    """The global maximum of a term, and what a test has found against the word of its user."""
    answer = global_maximum(task, start)
    before = float(task.f.value(start))
    is_higher = answer.value > before + task.tolerance
    if term.maximise is not None and is_higher:
        return answer, f"maximise of {term.name} returns a point that another exceeds by {answer.value - before:.1e}"
    if answer.known is not Known.LOCAL:
        return answer, ""
    if term.maximise is not None:
        return answer._replace(known=Known.STATED, error=0.0), ""
    if not term.concave:
        return answer, ""
    bent = _bends_up(task, answer.point)
    if bent is not None:
        return answer, f"{term.name} is not concave, although concave=True says so: between two points {bent}"
    return _by_gap(task, answer), ""


def _by_gap(task: Task, answer: Answer) -> Answer:
    """The maximum of a concave function: its gap is the error."""
    best = climb(task.f, task.over, answer.point, is_concave=True)
    point = best.point if float(best.value) > answer.value else answer.point
    here = task.f.local(point)
    error = float(linear_gap(task.over, here).bound) if task.over.is_bounded else float(best.error)
    return Answer(point, float(here.value), error if math.isfinite(error) else math.inf, Known.STATED)


def _bends_up(task: Task, point: Tensor) -> str | None:
    """Two points between which the function is lower than a straight line, in words; None where none was found."""
    points = spread_points(task.over, point, 2 * _PAIRS)
    half = points.shape[0] // 2
    one, other = points[:half], points[half : 2 * half]
    is_kept = (torch.arange(half, device=point.device) % 2 == 0).reshape(-1, *(1,) * point.dim())
    other = torch.where(is_kept, other, point)
    ends = [task.f.values_somehow(part) for part in (one, other)]
    between = task.f.values_somehow(0.5 * (one + other))
    missing = 0.5 * (ends[0] + ends[1]) - between
    size = ends[0].abs() + ends[1].abs() + between.abs()
    is_bent = missing > 1e3 * torch.finfo(point.dtype).eps * size
    if not bool(is_bent.any()):
        return None
    return f"it lies {float(missing[is_bent].amax()):.1e} below a straight line"
