"""The small problems on which a safeguard is measured, and whether an answer is right."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import torch
from tests.optim.accelerator import Accelerator, Remote
from tests.optim.bank import CASES, KINKS, Case
from tests.optim.test_endings import INFEASIBLE
from tests.optim.test_solve_bank import gradient_of, reference
from torch import Tensor

from idbpd.optim import Constraint, Problem, Solution, Status, solve

RANDOM = 40  # small problems made at random

Function = Callable[[Tensor], Tensor]


class Outcome(NamedTuple):
    """Of one run."""

    right: bool
    evaluations: int


@cache
def _best(case: int, start: tuple[float, ...]) -> float:
    return reference(CASES[case], list(start))


def _is_right(at: int, case: Case, start: Sequence[float], solution: Solution) -> bool:
    """The point, and the certificate from the closed form alone."""
    x = torch.as_tensor(solution.x).to(torch.float64)
    if solution.status is not Status.CONVERGED or any(float(g(x)) > 2e-6 for g in case.g):
        return False
    lagrangian = gradient_of(case.f, x)
    for multiplier, g in zip(solution.multipliers, case.g, strict=True):
        if abs(float(multiplier * g(x))) > 2e-6:
            return False
        lagrangian = lagrangian + multiplier * gradient_of(g, x)
    if float(lagrangian.norm()) > 1e-5:
        return False
    if not case.convex:
        return True
    if case.x is not None:
        return _is_near(x, case.x, case.accuracy * max(1.0, math.hypot(*case.x)))
    best = _best(at, tuple(start))
    return float(case.f(x)) <= best + 1e-5 * (1 + abs(best))


def _is_near(x: Tensor, answer: Sequence[float], distance: float) -> bool:
    return bool((x.double() - torch.tensor(answer).double()).abs().amax() <= distance)


def _float64() -> Iterator[tuple[str, Outcome]]:
    for at, case in enumerate(CASES):
        for i, start in enumerate(case.starts):
            found = solve(case.problem, torch.tensor(start, dtype=torch.float64), max_steps=500)
            yield f"{case.name}-{i}", Outcome(_is_right(at, case, start, found), found.evaluations)


def _float32() -> Iterator[tuple[str, Outcome]]:
    for case in CASES:
        if case.single:
            found = solve(case.problem, torch.tensor(case.starts[0]).float(), max_steps=500, tolerance=1e-4)
            x = torch.as_tensor(found.x).to(torch.float64)
            right = found.status is Status.CONVERGED and all(float(g(x)) <= 3e-4 for g in case.g)
            if case.x is not None and case.convex:
                right = right and _is_near(x, case.x, 1e-2 * max(1.0, math.hypot(*case.x)))
            yield case.name, Outcome(right, found.evaluations)


def _kinks() -> Iterator[tuple[str, Outcome]]:
    for kink in KINKS:
        for i, start in enumerate(kink.starts):
            found = solve(kink.problem, torch.tensor(start, dtype=torch.float64), max_steps=500)
            right = found.status is Status.CONVERGED and _is_near(torch.as_tensor(found.x), kink.x, 1e-5)
            multipliers = torch.tensor(kink.multipliers).double()
            right = right and bool(((found.multipliers - multipliers).abs() <= 1e-4).all())
            yield f"{kink.name}-{i}", Outcome(right, found.evaluations)


def _infeasible() -> Iterator[tuple[str, Outcome]]:
    for name, (problem, least) in INFEASIBLE.items():
        for i, start in enumerate(([2, 1], [-5, 0.5], [0, 0])):
            found = solve(problem, torch.tensor(start, dtype=torch.float64), max_steps=500)
            right = found.status is Status.INFEASIBLE and abs(found.kkt.infeasibility - least) <= 1e-4 * least
            yield f"{name}-{i}", Outcome(right, found.evaluations)


def random_problem(seed: int) -> tuple[Problem, Tensor]:
    """A problem in two or three variables that need not be convex, with a compact feasible set that is not empty, and
    a start that need not be near it.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def choose(count: int) -> int:
        return int(torch.randint(count, (1,), generator=generator))

    n, inside = 2 + choose(2), draw(3)
    inside = inside[:n]

    def objective() -> Function:
        a, b, scale = draw(n), draw(n), 10 ** float(draw(1))
        forms: list[Function] = [
            lambda x: scale * (10 ** a.abs() * (x - b).square()).sum(),
            lambda x: scale * (10 * (x[1] - x[0] ** 2) ** 2 + (b[0] - x).square().sum()),
            lambda x: scale * -(a @ x**3 + (b @ x).exp()),
            lambda x: scale * ((3 * a @ x).sin() + 0.1 * (x - b).square().sum()),
            lambda x: scale * -(x - b).square().sum(),
        ]
        return forms[choose(len(forms))]

    def constraint(*, bounds: bool) -> Constraint:
        a, b, scale = draw(n), draw(n), 10 ** float(draw(1))
        forms: list[Function] = [
            lambda x: (x - a).square().sum(),
            lambda x: (1 + (x - a).square().sum()).log(),
            lambda x: -(x - a).square().sum(),
            lambda x: b[0] * x[1] - (3 * x[0]).sin(),
            lambda x: (a @ x).clamp(max=50).exp(),
            lambda x: a @ x**3,
            lambda x: 0.5 * (a @ x).clamp(-1, 1).square() + b @ x,
        ]
        form = forms[choose(2 if bounds else len(forms))]
        limit = float(form(inside)) + 0.1 * float(draw(1).abs()) * choose(2) + (0.5 if bounds else 0.0)
        return Constraint(lambda x: scale * (form(x) - limit))

    constraints = [constraint(bounds=i == 0) for i in range(1 + choose(3))]
    return Problem(objective(), constraints=constraints), inside + (0.1, 3.0, 30.0)[choose(3)] * draw(n)


def _random() -> Iterator[tuple[str, Outcome]]:
    """Right is a KKT point; where there are several, any."""
    for seed in range(RANDOM):
        problem, start = random_problem(seed)
        found = solve(problem, start, max_steps=150)
        yield str(seed), Outcome(found.status is Status.CONVERGED, found.evaluations)


def _waits() -> Iterator[tuple[str, Outcome]]:
    """How often a run waits for the device, in place of its evaluations."""
    for case in CASES[::3]:
        with Accelerator() as accelerator:
            start = Remote(torch.tensor(case.starts[0], dtype=torch.float64))
            found = solve(case.problem, start, max_steps=200)
        yield case.name, Outcome(found.status is Status.CONVERGED, accelerator.crossings)


BANK = {"float64": _float64, "float32": _float32, "kinks": _kinks, "infeasible": _infeasible, "random": _random}


def measure_bank(group: str) -> dict[str, Outcome]:
    """Every run of a group."""
    return dict({**BANK, "waits": _waits}[group]())
