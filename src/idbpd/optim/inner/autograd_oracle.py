"""A `Problem` as a method sees it: values by inner maximisation, gradients by autograd at the maximisers (Danskin)."""

import math
from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from idbpd.optim.device_reads import is_here, read
from idbpd.optim.enclosure.degree import degree_of
from idbpd.optim.enclosure.tape import record
from idbpd.optim.inner.exact import exact_maximum, is_strict_quadratic
from idbpd.optim.inner.function import InnerFunction, Maximum, PointFunction
from idbpd.optim.inner.known_numbers import KnownNumbers
from idbpd.optim.inner.maximise import climb
from idbpd.optim.inner.quadratic_over_ball import over_ball
from idbpd.optim.inner.search import Task
from idbpd.optim.inner.terms import Term, stated_maximum, terms_of, verified
from idbpd.optim.knowledge import Known
from idbpd.optim.layout import Layout
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers, Verification
from idbpd.optim.paper.fixed_ascent import ascend
from idbpd.optim.problem import Problem
from idbpd.optim.sets import Ball, ConvexSet, Simplex

_REMEMBERED = 20  # worst cases per term
_CORNERS, _MOST_CORNERS = 200, 5_000  # of a simplex: looked at as worst cases, and at most in all


@final
class AutogradOracle:
    """Answers a method's questions about a `Problem`. All that it remembers is worst cases that were hard to find."""

    def __init__(self, problem: Problem, layout: Layout, effort: float = 1.0, scale: float = 1.0) -> None:
        """Take the functions and sets of ``problem`` and the ``layout`` in which its functions want ``x``. ``effort``
        says how hard to look for global worst cases when they are asked for, ``scale`` multiplies the objective.
        """
        self._layout, self._effort = layout, effort
        self._terms = terms_of(problem, scale)
        self._memory: list[list[Tensor]] = [[] for _ in self._terms]
        self._degrees: list[float | None] = [None] * len(self._terms)  # in y or w; None before it is known
        self._numbers = KnownNumbers(self._terms, lambda x, i, point: self._at(x, self._terms[i])(point))

    @property
    def constraint_count(self) -> int:
        """The number c of constraints."""
        return len(self._terms) - 1

    def start(self, x: Tensor) -> Maximisers:
        """The centre of each set."""
        centres = [None if term.over is None else term.over.centre(x) for term in self._terms]
        return Maximisers.of(centres)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        """Maximise every term from ``warm``: as accurately as possible, or by exactly ``steps`` steps of ascent."""
        if steps is not None:
            return self._evaluation(x, warm, lambda i, f, over, start: _ascended(steps, i, f, over, start))
        if not is_here(x):
            return self.complete(self._attempted(x, warm), warm)
        return self._evaluation(x, warm, lambda i, f, over, start: self._maximum(x, i, f, over, start))

    def attempt(self, x: Tensor, warm: Maximisers) -> Evaluation:
        """Maximise every term from ``warm`` as if it were a quadratic in y or w; on the host, where no wait is saved,
        in any way it takes.
        """
        return self.evaluate(x, warm) if is_here(x) else self._attempted(x, warm)

    def complete(self, evaluation: Evaluation, warm: Maximisers) -> Evaluation:
        """Maximise the terms that are no quadratics once more, by ascent."""
        is_open = read(evaluation.error)[0].isinf().tolist()
        if not any(is_open) or is_here(evaluation.x):
            return evaluation
        points = list(evaluation.maximisers.points)
        values, errors = [evaluation.f, *evaluation.g.unbind()], list(evaluation.error.unbind())
        for i, (start, term) in enumerate(zip(warm.points, self._terms, strict=True)):
            if is_open[i] and term.over is not None and start is not None:
                f = self._at(evaluation.x, term)
                points[i], values[i], errors[i] = self._climbed(i, InnerFunction(f), term.over, start)
        return _assembled(evaluation.x, points, values, errors)

    def verify(self, evaluation: Evaluation, tolerance: float) -> Verification:
        """Look for the global maximum of every term, and say how it is known."""
        points, values = list(evaluation.maximisers.points), [evaluation.f, *evaluation.g.unbind()]
        errors, known = list(evaluation.error.unbind()), [Known.EXACT] * len(self._terms)
        numbers = read(torch.stack(values))[0].tolist()
        is_higher, remarks = False, []
        for i, (point, term) in enumerate(zip(points, self._terms, strict=True)):
            if term.over is None or point is None:
                continue
            f = InnerFunction(self._at(evaluation.x, term))
            higher = numbers[i] + 10 * tolerance + 1e-9 * abs(numbers[i])
            ascend = self._numbers.ascent(i, evaluation.x, point)
            task = Task(f, term.over, tolerance, self._effort, higher, ascend)
            answer, remark = verified(term, task, term.over.project(point))
            known[i] = answer.known
            errors[i] = torch.full_like(errors[i], answer.error)
            remarks += [remark] if remark else []
            rise = answer.value - numbers[i]
            if rise > 0.0:
                points[i], values[i] = answer.point, torch.full_like(values[i], answer.value)
            if rise > tolerance + 1e-10 * abs(numbers[i]):
                is_higher = True
                self._memory[i] = [answer.point, *self._memory[i]][:_REMEMBERED]
        return Verification(_assembled(evaluation.x, points, values, errors), tuple(known), is_higher, tuple(remarks))

    def remembered(self) -> tuple[tuple[Tensor, ...], ...]:
        """The worst cases that only a verification has found."""
        return tuple(tuple(points) for points in self._memory)

    def remind(self, worst_cases: tuple[tuple[Tensor, ...], ...]) -> None:
        """Take over the memory of another run."""
        self._memory = [list(points) for points in worst_cases] or self._memory

    def _attempted(self, x: Tensor, warm: Maximisers) -> Evaluation:
        return self._evaluation(x, warm, lambda i, f, over, start: self._quadratic(i, f, over, over.project(start)))

    def _evaluation(self, x: Tensor, warm: Maximisers, maximum: "_Maximum") -> Evaluation:
        """Every term at ``x``, with the worst case that ``maximum`` finds from ``warm``."""
        points: list[Tensor | None] = []
        values, errors = [], []
        for i, (start, term) in enumerate(zip(warm.points, self._terms, strict=True)):
            value_at = self._at(x, term)
            if term.over is None or start is None:
                with torch.no_grad():
                    point, value = None, value_at(None).detach()
                error = torch.zeros((), dtype=torch.float64, device=x.device)
            else:
                point, value, error = maximum(i, value_at, term.over, start)
            points.append(point)
            values.append(value.to(torch.float64))
            errors.append(error.to(torch.float64))
        return _assembled(x, points, values, errors)

    def _maximum(self, x: Tensor, i: int, function: PointFunction, over: ConvexSet, start: Tensor) -> Maximum:
        """A maximum on the host, exactly where that can be, else by ascent."""
        own = self._terms[i].maximise
        if own is not None:
            stated = own(self._layout.restore(x))
            return stated_maximum(self._terms[i].name, InnerFunction(function), over, stated, start)
        start = over.project(start)
        if self._degrees[i] is None:
            self._read_operations(i, x, function, over, start)
        starts, is_concave = [start, *self._memory[i]], self._terms[i].concave
        found = self._numbers.maximum(i, x, InnerFunction(function), starts, is_concave=is_concave)
        found = found or self._quadratic(i, function, over, start)
        return self._climbed(i, InnerFunction(function), over, start) if math.isinf(found.error) else found

    def _read_operations(self, i: int, x: Tensor, function: PointFunction, over: ConvexSet, start: Tensor) -> None:
        """Look at the operations of a term before its first maximum."""
        self._degrees[i] = self._numbers.read(i, x, over, start)
        if self._degrees[i] is not None:
            return
        tape = record(function, start)
        # Without a tape only tests speak for a quadratic: enough on the way, not for a certificate.
        self._degrees[i] = 2.0 if tape is None else degree_of(tape)

    def tracked(self, x: Tensor, term: int, points: Sequence[Tensor | None]) -> list[Tensor] | None:
        """The local maximisers at ``x`` to which points lead, where the term is known in numbers."""
        return self._numbers.tracked(x, term, points)

    def peaks(self, x: Tensor, term: int) -> list[Tensor]:
        """The local maximisers at ``x``, where the term is known in numbers and its set can be looked over; of one that
        is linear over a simplex, the highest corners, each of which is a function of its own.
        """
        over = self._terms[term].over
        is_linear = self._degrees[term] == 1.0 and is_here(x)
        if isinstance(over, Simplex) and is_linear and over.n <= _MOST_CORNERS:
            gradient = InnerFunction(self._at(x, self._terms[term])).local(over.centre(x)).gradient
            highest = gradient.argsort(descending=True)[:_CORNERS]
            corners = torch.zeros(highest.numel(), over.n, dtype=x.dtype)
            return list(corners.scatter_(1, highest.unsqueeze(1), 1.0).unbind())
        return self._numbers.peaks(x, term)

    def curvature(
        self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None], weights: Sequence[float]
    ) -> Tensor | None:
        """The Hessian of a weighted sum of terms, where all of them are known in numbers."""
        return self._numbers.curvature(x, terms, points, weights)

    def _quadratic(self, i: int, function: PointFunction, over: ConvexSet, start: Tensor) -> Maximum:
        """The maximum of a function that is a quadratic in y or w; the error is infinite where it is none."""
        if self._degrees[i] is None:
            tape = record(function, start)
            self._degrees[i] = 2.0 if tape is None else degree_of(tape)
        f = InnerFunction(function)
        if self._degrees[i] == math.inf or start.numel() == 0:
            return Maximum(start, f.value(start), torch.full((), math.inf, dtype=torch.float64, device=start.device))
        return exact_maximum(f, over, start)

    def _climbed(self, i: int, f: InnerFunction, over: ConvexSet, start: Tensor) -> Maximum:
        """The maximum by ascent, from the start or from a worst case that was hard to find, if that is higher."""
        start = over.project(start)
        if self._degrees[i] == 2.0 and isinstance(over, Ball):
            found = over_ball(f, over, start)
            if found is not None:
                return found
        if self._memory[i]:
            points = torch.stack([start, *self._memory[i]])
            start = points[int(f.values_somehow(points).nan_to_num(-math.inf).argmax())]
        return climb(f, over, start, is_concave=self._terms[i].concave)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Partial gradients in x at the maximisers of ``evaluation``."""
        _, rows = self.linearise(evaluation.x, range(len(self._terms)), evaluation.maximisers.points)
        return Gradients.of(rows)

    def linearise(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
        """The value and the partial gradient in x of a term at a point, for each of ``terms``."""
        values, rows = [], []
        for term, point in zip(terms, points, strict=True):
            found = self._numbers.linearised(term, x, point)
            if found is not None:
                values.append(found[0])
                rows.append(found[1])
                continue
            variable = x.detach().requires_grad_()
            with torch.enable_grad():
                value = self._at(variable, self._terms[term])(point)
            if not value.requires_grad:
                raise ValueError(
                    f"{self._terms[term].name} does not depend on x through differentiable torch operations, "
                    "so it has no gradient; "
                    "compute it from x alone (a constant can be written 0 * x.sum())"
                )
            (gradient,) = torch.autograd.grad(value, variable, allow_unused=True)
            gradient = torch.zeros_like(x) if gradient is None else gradient
            result = value.detach().to(torch.float64), gradient
            # From the first time on, or a run that goes on from a file would have other last digits.
            result = self._numbers.checked(term, x, point, gradient) or result
            values.append(result[0])
            rows.append(result[1])
        return torch.stack(values), torch.stack(rows)

    def term_values(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> Tensor:
        """The value of a term at a point, for each of ``terms``, without a gradient."""
        with torch.no_grad():
            values = [self._at(x, self._terms[term])(point) for term, point in zip(terms, points, strict=True)]
        return torch.stack(values).to(torch.float64)

    def is_only_maximiser(self, x: Tensor, term: int, point: Tensor | None) -> Tensor:
        """Whether the term is a strictly concave quadratic in y or w there."""
        over = self._terms[term].over
        if over is None or point is None:
            return torch.ones((), dtype=torch.bool, device=x.device)
        return is_strict_quadratic(InnerFunction(self._at(x, self._terms[term])), over, point)

    def cut_values(self, evaluation: Evaluation, constraint: int, points: Tensor) -> Tensor:
        """The constraint's function at each row of ``points``."""
        with torch.no_grad():
            return self._cuts(evaluation.x, constraint, points)

    def cut_gradient(self, evaluation: Evaluation, constraint: int, points: Tensor, factors: Tensor) -> Tensor:
        """One backward pass for all rows of ``points``."""
        x = evaluation.x.detach().requires_grad_()
        with torch.enable_grad():
            total = factors.to(torch.float64) @ self._cuts(x, constraint, points)
        (gradient,) = torch.autograd.grad(total, x)
        return gradient

    def _cuts(self, x: Tensor, constraint: int, points: Tensor) -> Tensor:
        term = self._terms[1 + constraint]
        value_at = self._at(x, term)
        return torch.stack([value_at(None if term.over is None else point) for point in points]).to(torch.float64)

    def _at(self, x: Tensor, term: Term) -> Callable[[Tensor | None], Tensor]:
        """A term at a fixed ``x`` as a function of its second argument, checked to return one number."""
        point = self._layout.restore(x)
        name, function = term.name, term.function

        def value(argument: Tensor | None) -> Tensor:
            result = function(point) if argument is None else function(point, argument)
            if not isinstance(result, Tensor):
                raise TypeError(f"{name} must return a tensor with one element, got {type(result).__name__}")
            if result.numel() != 1:
                raise ValueError(f"{name} must return a tensor with one element, got shape {tuple(result.shape)}")
            return result.reshape(())

        return value


_Maximum = Callable[[int, PointFunction, ConvexSet, Tensor], Maximum]  # of a term, as a function over a set, from there


def _assembled(x: Tensor, points: list[Tensor | None], values: list[Tensor], errors: list[Tensor]) -> Evaluation:
    """What was found for every term, the objective first."""
    g = torch.stack(values[1:]) if len(values) > 1 else values[0].new_zeros(0)
    return Evaluation(x, values[0], g, Maximisers.of(points), torch.stack(errors))


def _ascended(steps: AscentSteps, term: int, f: PointFunction, over: ConvexSet, start: Tensor) -> Maximum:
    """What a fixed number of steps leads to."""
    point = ascend(f, over, start, steps.objective if term == 0 else steps.constraints, accelerated=steps.accelerated)
    with torch.no_grad():
        value = f(point).double()
    # What is missing is unknown without further evaluations.
    return Maximum(point, value, torch.full_like(value, torch.inf))
