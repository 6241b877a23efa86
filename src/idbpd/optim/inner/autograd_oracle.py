"""A `Problem` as a method sees it: values by inner maximisation, gradients by autograd at the maximisers (Danskin)."""

from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from idbpd.optim.bounds import Bounds
from idbpd.optim.deadline import Deadline
from idbpd.optim.device_reads import is_here, read
from idbpd.optim.inner.equalities import Equalities
from idbpd.optim.inner.exact import is_strict_quadratic
from idbpd.optim.inner.function import InnerFunction, Maximum, PointFunction
from idbpd.optim.inner.search import Task
from idbpd.optim.inner.term_maxima import TermMaxima
from idbpd.optim.inner.terms import Term, stated_maximum, terms_of, verified
from idbpd.optim.knowledge import Known
from idbpd.optim.layout import Layout
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, LinearTerm, Maximisers, Verification
from idbpd.optim.paper.fixed_ascent import ascend
from idbpd.optim.problem import Problem
from idbpd.optim.scaling import Scaling
from idbpd.optim.sets import ConvexSet

_PLAIN = Scaling()


@final
class AutogradOracle:
    """Answers a method's questions about a `Problem`. All that it remembers is worst cases that were hard to find."""

    def __init__(
        self,
        problem: Problem,
        layout: Layout,
        effort: float = 1.0,
        scaling: Scaling = _PLAIN,
        equality_counts: Sequence[int] = (),
        bounds: Bounds | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        """Take the functions and sets of ``problem`` and the ``layout`` in which its functions want ``x``. ``effort``
        says how hard to look for global worst cases when they are asked for. The oracle answers in the units of
        ``scaling``; ``bounds`` are in those of the user.
        """
        self._layout, self._effort, self._scaling = layout, effort, scaling
        self._deadline = deadline or Deadline()
        self._terms = terms_of(problem, scaling)
        self._equalities = Equalities(problem, layout, equality_counts, scaling)
        self._bounds = None if bounds is None else Bounds(*(scaling.inward(bound) for bound in bounds))
        self._maxima = TermMaxima(self._terms, self._value)

    @property
    def constraint_count(self) -> int:
        """The number c of constraints, those of the equalities last."""
        return len(self._terms) - 1 + self._equalities.count

    @property
    def bounds(self) -> Bounds | None:
        """The bounds on x."""
        return self._bounds

    def start(self, x: Tensor) -> Maximisers:
        """The centre of each set."""
        centres = [None if term.over is None else term.over.centre(x) for term in self._terms]
        return Maximisers.of(centres + [None] * self._equalities.count)

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
        for i, (start, term) in enumerate(zip(warm.points, self._terms, strict=False)):
            if is_open[i] and term.over is not None and start is not None:
                f = self._at(evaluation.x, term)
                points[i], values[i], errors[i] = self._maxima.climbed(i, InnerFunction(f), start)
        return self._assembled(evaluation.x, points, values, errors)

    def verify(self, evaluation: Evaluation, tolerance: float) -> Verification:
        """Look for the global maximum of every term, and say how it is known."""
        points, values = list(evaluation.maximisers.points), [evaluation.f, *evaluation.g.unbind()]
        errors, known = list(evaluation.error.unbind()), [Known.EXACT] * len(points)
        numbers = read(torch.stack(values))[0].tolist()
        is_higher, remarks = False, []
        for i, (point, term) in enumerate(zip(points, self._terms, strict=False)):
            if term.over is None or point is None:
                continue
            f = InnerFunction(self._at(evaluation.x, term))
            higher = numbers[i] + 10 * tolerance + 1e-9 * abs(numbers[i])
            ascend = self._maxima.numbers.ascent(i, evaluation.x, point)
            task = Task(f, term.over, tolerance, self._effort, higher, self._deadline, ascend)
            answer, remark = verified(term, task, term.over.project(point))
            known[i] = answer.known
            errors[i] = torch.full_like(errors[i], answer.error)
            remarks += [remark] if remark else []
            rise = answer.value - numbers[i]
            if rise > 0.0:
                points[i], values[i] = answer.point, torch.full_like(values[i], answer.value)
            if rise > tolerance + 1e-10 * abs(numbers[i]):
                is_higher = True
                self._maxima.remember(i, answer.point)
        higher_up = self._assembled(evaluation.x, points, values, errors)
        return Verification(higher_up, tuple(known), is_higher, tuple(remarks))

    def remembered(self) -> tuple[tuple[Tensor, ...], ...]:
        """The worst cases that only a verification has found."""
        return tuple(tuple(points) for points in self._maxima.memory)

    def remind(self, worst_cases: tuple[tuple[Tensor, ...], ...]) -> None:
        """Take over the memory of another run."""
        self._maxima.memory = [list(points) for points in worst_cases] or self._maxima.memory

    def _attempted(self, x: Tensor, warm: Maximisers) -> Evaluation:
        return self._evaluation(x, warm, lambda i, f, over, start: self._maxima.quadratic(i, f, over.project(start)))

    def _evaluation(self, x: Tensor, warm: Maximisers, maximum: "_Maximum") -> Evaluation:
        """Every term at ``x``, with the worst case that ``maximum`` finds from ``warm``."""
        points: list[Tensor | None] = []
        values, errors = [], []
        for i, (start, term) in enumerate(zip(warm.points, self._terms, strict=False)):
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
        if self._equalities.count:
            h = self._equalities.values(x)
            points, values = points + [None] * h.numel(), [*values, *h.unbind()]
            errors += torch.zeros_like(h).unbind()
        return self._assembled(x, points, values, errors)

    def _maximum(self, x: Tensor, i: int, function: PointFunction, over: ConvexSet, start: Tensor) -> Maximum:
        """A maximum on the host, exactly where that can be, else by ascent."""
        own = self._terms[i].maximise
        if own is not None:
            stated = own(self._layout.restore(self._scaling.outward(x)))
            return stated_maximum(self._terms[i].name, InnerFunction(function), over, stated, start)
        return self._maxima.maximum(i, x, function, start)

    def tracked(self, x: Tensor, term: int, points: Sequence[Tensor | None]) -> list[Tensor] | None:
        """The local maximisers at ``x`` to which points lead, where the term is known in numbers."""
        return self._maxima.numbers.tracked(x, term, points)

    def peaks(self, x: Tensor, term: int) -> list[Tensor]:
        """The local maximisers at ``x``, as far as they are known."""
        return self._maxima.peaks(x, term) if term < len(self._terms) else []

    def is_linear(self, x: Tensor, term: int) -> bool:
        """Whether the term is linear over a box that is not too large."""
        return term < len(self._terms) and self._maxima.is_linear(x, term)

    def linear(self, x: Tensor, term: int) -> LinearTerm | None:
        """The term at every point of its box, where it is linear."""
        return self._maxima.linear(x, term) if term < len(self._terms) else None

    def curvature(
        self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None], weights: Sequence[float]
    ) -> Tensor | None:
        """The Hessian of a weighted sum of terms, where all of them are known in numbers."""
        return self._maxima.numbers.curvature(x, terms, points, weights)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Partial gradients in x at the maximisers of ``evaluation``."""
        points = evaluation.maximisers.points
        _, rows = self.linearise(evaluation.x, range(len(points)), points)
        return Gradients.of(rows)

    def linearise(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
        """The value and the partial gradient in x of a term at a point, for each of ``terms``."""
        values, rows = [], []
        first = len(self._terms)
        equalities = self._equalities.linearise(x) if any(term >= first for term in terms) else None
        for term, point in zip(terms, points, strict=True):
            if equalities is not None and term >= first:
                values.append(equalities[0][term - first])
                rows.append(equalities[1][term - first])
                continue
            found = self._maxima.numbers.linearised(term, x, point)
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
            result = self._maxima.numbers.checked(term, x, point, gradient) or result
            values.append(result[0])
            rows.append(result[1])
        return torch.stack(values), torch.stack(rows)

    def term_values(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> Tensor:
        """The value of a term at a point, for each of ``terms``, without a gradient."""
        first = len(self._terms)
        h = self._equalities.values(x) if any(term >= first for term in terms) else x
        with torch.no_grad():
            values = [
                self._at(x, self._terms[term])(point) if term < first else h[term - first].to(x)
                for term, point in zip(terms, points, strict=True)
            ]
        return torch.stack(values).to(torch.float64)

    def is_only_maximiser(self, x: Tensor, term: int, point: Tensor | None) -> Tensor:
        """Whether the term is a strictly concave quadratic in y or w there."""
        over = self._terms[term].over if term < len(self._terms) else None
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

    def _assembled(
        self, x: Tensor, points: list[Tensor | None], values: list[Tensor], errors: list[Tensor]
    ) -> Evaluation:
        """What was found for every term, the objective first."""
        g = torch.stack(values[1:]) if len(values) > 1 else values[0].new_zeros(0)
        return Evaluation(x, values[0], g, Maximisers.of(points), torch.stack(errors), self._equalities.count)

    def _value(self, x: Tensor, term: int, point: Tensor | None) -> Tensor:
        """A term at a point, or an entry of the equalities, in the units of the run."""
        first = len(self._terms)
        return self._at(x, self._terms[term])(point) if term < first else self._equalities.entry(x, term - first)

    def _at(self, x: Tensor, term: Term) -> Callable[[Tensor | None], Tensor]:
        """A term at a fixed ``x`` as a function of its second argument, checked to return one number."""
        point = self._layout.restore(self._scaling.outward(x))
        name, function, deadline = term.name, term.function, self._deadline

        def value(argument: Tensor | None) -> Tensor:
            deadline.check()
            result = function(point) if argument is None else function(point, argument)
            if not isinstance(result, Tensor):
                raise TypeError(f"{name} must return a tensor with one element, got {type(result).__name__}")
            if result.numel() != 1:
                raise ValueError(f"{name} must return a tensor with one element, got shape {tuple(result.shape)}")
            return result.reshape(())

        return value


_Maximum = Callable[[int, PointFunction, ConvexSet, Tensor], Maximum]  # of a term, as a function over a set, from there


def _ascended(steps: AscentSteps, term: int, f: PointFunction, over: ConvexSet, start: Tensor) -> Maximum:
    """What a fixed number of steps leads to."""
    point = ascend(f, over, start, steps.objective if term == 0 else steps.constraints, accelerated=steps.accelerated)
    with torch.no_grad():
        value = f(point).double()
    # What is missing is unknown without further evaluations.
    return Maximum(point, value, torch.full_like(value, torch.inf))
