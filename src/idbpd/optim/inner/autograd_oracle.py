"""A `Problem` as a method sees it: values by inner maximisation, gradients by autograd at the maximisers (Danskin)."""

from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from idbpd.optim.device_reads import read
from idbpd.optim.inner.exact import exact_maximum, is_strict_quadratic
from idbpd.optim.inner.function import InnerFunction, Maximum, PointFunction
from idbpd.optim.inner.maximise import climb
from idbpd.optim.layout import Layout
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from idbpd.optim.paper.fixed_ascent import ascend
from idbpd.optim.problem import Function, Problem
from idbpd.optim.sets import ConvexSet


@final
class AutogradOracle:
    """Answers a method's questions about a `Problem`; without a state of its own, so that runs can be resumed."""

    def __init__(self, problem: Problem, layout: Layout) -> None:
        """Take the functions and sets of ``problem`` and the ``layout`` in which its functions want ``x``."""
        self._layout = layout
        self._terms: list[tuple[str, Function, ConvexSet | None]] = [("objective", problem.objective, problem.over)]
        for i, constraint in enumerate(problem.constraints):
            self._terms.append((f"constraints[{i}].psi", constraint.psi, constraint.over))

    @property
    def constraint_count(self) -> int:
        """The number c of constraints."""
        return len(self._terms) - 1

    def start(self, x: Tensor) -> Maximisers:
        """The centre of each set."""
        centres = [None if over is None else over.centre(x) for _, _, over in self._terms]
        return Maximisers.of(centres)

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        """Maximise every term from ``warm``: as accurately as possible, or by exactly ``steps`` steps of ascent."""
        if steps is None:
            return self.complete(self.attempt(x, warm), warm)
        return self._evaluation(x, warm, lambda term, f, over, start: _ascended(steps, term, f, over, start))

    def attempt(self, x: Tensor, warm: Maximisers) -> Evaluation:
        """Maximise every term from ``warm`` as if it were a quadratic in y or w."""
        return self._evaluation(
            x, warm, lambda _, f, over, start: exact_maximum(InnerFunction(f), over, over.project(start))
        )

    def complete(self, evaluation: Evaluation, warm: Maximisers) -> Evaluation:
        """Maximise the terms that are no quadratics once more, by ascent."""
        is_open = read(evaluation.error)[0].isinf().tolist()
        if not any(is_open):
            return evaluation
        points = list(evaluation.maximisers.points)
        values, errors = [evaluation.f, *evaluation.g.unbind()], list(evaluation.error.unbind())
        for term, (start, (name, function, over)) in enumerate(zip(warm.points, self._terms, strict=True)):
            if is_open[term] and over is not None and start is not None:
                f = InnerFunction(self._at(evaluation.x, name, function))
                points[term], values[term], errors[term] = climb(f, over, over.project(start))
        return _assembled(evaluation.x, points, values, errors)

    def _evaluation(self, x: Tensor, warm: Maximisers, maximum: "_Maximum") -> Evaluation:
        """Every term at ``x``, with the worst case that ``maximum`` finds from ``warm``."""
        points: list[Tensor | None] = []
        values, errors = [], []
        for i, (start, (name, function, over)) in enumerate(zip(warm.points, self._terms, strict=True)):
            value_at = self._at(x, name, function)
            if over is None or start is None:
                with torch.no_grad():
                    point, value = None, value_at(None).detach()
                error = torch.zeros((), dtype=torch.float64, device=x.device)
            else:
                point, value, error = maximum(i, value_at, over, start)
            points.append(point)
            values.append(value.to(torch.float64))
            errors.append(error.to(torch.float64))
        return _assembled(x, points, values, errors)

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        """Partial gradients in x at the maximisers of ``evaluation``."""
        _, rows = self.linearise(evaluation.x, range(len(self._terms)), evaluation.maximisers.points)
        return Gradients.of(rows)

    def linearise(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
        """The value and the partial gradient in x of a term at a point, for each of ``terms``."""
        values, rows = [], []
        for term, point in zip(terms, points, strict=True):
            name, function, _ = self._terms[term]
            variable = x.detach().requires_grad_()
            with torch.enable_grad():
                value = self._at(variable, name, function)(point)
            if not value.requires_grad:
                raise ValueError(
                    f"{name} does not depend on x through differentiable torch operations, so it has no gradient; "
                    "compute it from x alone (a constant can be written 0 * x.sum())"
                )
            (gradient,) = torch.autograd.grad(value, variable, allow_unused=True)
            values.append(value.detach().to(torch.float64))
            rows.append(torch.zeros_like(x) if gradient is None else gradient)
        return torch.stack(values), torch.stack(rows)

    def term_values(self, x: Tensor, terms: Sequence[int], points: Sequence[Tensor | None]) -> Tensor:
        """The value of a term at a point, for each of ``terms``, without a gradient."""
        with torch.no_grad():
            values = [self._at(x, *self._terms[term][:2])(point) for term, point in zip(terms, points, strict=True)]
        return torch.stack(values).to(torch.float64)

    def is_only_maximiser(self, x: Tensor, term: int, point: Tensor | None) -> Tensor:
        """Whether the term is a strictly concave quadratic in y or w there."""
        name, function, over = self._terms[term]
        if over is None or point is None:
            return torch.ones((), dtype=torch.bool, device=x.device)
        return is_strict_quadratic(InnerFunction(self._at(x, name, function)), over, point)

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
        name, function, over = self._terms[1 + constraint]
        value_at = self._at(x, name, function)
        return torch.stack([value_at(None if over is None else point) for point in points]).to(torch.float64)

    def _at(self, x: Tensor, name: str, function: Function) -> Callable[[Tensor | None], Tensor]:
        """``function`` at a fixed ``x`` as a function of its second argument, checked to return one number."""
        point = self._layout.restore(x)

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
