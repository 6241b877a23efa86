"""The small problems on which a safeguard is measured, and whether an answer is right."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple
from unittest import mock

import torch
from tests.optim.accelerator import Accelerator, Remote
from tests.optim.bank import CASES, KINKS, Case, Kink
from tests.optim.bank.hock_schittkowski import Published, both, bounds, equalities
from tests.optim.bank.large import LARGE, random_semi_infinite
from tests.optim.bank.worst_cases import HIDDEN, Hidden, is_false
from tests.optim.test_endings import INFEASIBLE
from tests.optim.test_scaling import in_other_units
from tests.optim.test_solve_bank import gradient_of, reference
from torch import Tensor

from idbpd.optim import Constraint, Problem, Solution, Status, solve
from idbpd.optim.inner import known_numbers

RANDOM = 40  # small problems made at random
SEMI_INFINITE = 8
UNITS = ((1e-7, 1, 1), (1, 1e-6, 1), (1, 1, 1e3))  # factors of f and of g, and the spread of the sizes of variables

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


class Small(NamedTuple):
    """A run on a small problem."""

    variables: int
    run: Callable[[], Outcome]


def _solved(case: Case, at: int, start: Sequence[float]) -> Outcome:
    found = solve(case.problem, torch.tensor(start, dtype=torch.float64), max_steps=500)
    return Outcome(_is_right(at, case, start, found), found.evaluations)


def _solved_in_float32(case: Case) -> Outcome:
    found = solve(case.problem, torch.tensor(case.starts[0]).float(), max_steps=500, tolerance=1e-4)
    x = torch.as_tensor(found.x).to(torch.float64)
    right = found.status is Status.CONVERGED and all(float(g(x)) <= 3e-4 for g in case.g)
    if case.x is not None and case.convex:
        right = right and _is_near(x, case.x, 1e-2 * max(1.0, math.hypot(*case.x)))
    return Outcome(right, found.evaluations)


def _solved_at_a_kink(kink: Kink, start: Sequence[float]) -> Outcome:
    found = solve(kink.problem, torch.tensor(start, dtype=torch.float64), max_steps=500)
    right = found.status is Status.CONVERGED and _is_near(torch.as_tensor(found.x), kink.x, 1e-5)
    multipliers = torch.tensor(kink.multipliers).double()
    return Outcome(right and bool(((found.multipliers - multipliers).abs() <= 1e-4).all()), found.evaluations)


def _solved_in_tensors(kink: Kink, start: Sequence[float]) -> Outcome:
    """A kink as those of larger problems are: without second derivatives, and rows that come by null steps alone."""
    with mock.patch.object(known_numbers, "number_term", return_value=None):
        return _solved_at_a_kink(kink, start)


def _found_infeasible(problem: Problem, least: float, start: Sequence[float]) -> Outcome:
    found = solve(problem, torch.tensor(start, dtype=torch.float64), max_steps=500)
    right = found.status is Status.INFEASIBLE and abs(found.kkt.infeasibility - least) <= 1e-4 * least
    return Outcome(right, found.evaluations)


def _solved_within_bounds(case: Published) -> Outcome:
    found = solve(case.problem, torch.tensor(case.start, dtype=torch.float64), max_steps=500)
    right = found.status is Status.CONVERGED and abs(found.f - case.f) <= case.accuracy * (1 + abs(case.f))
    return Outcome(right, found.evaluations)


def _solved_semi_infinite(problem: Problem, start: Tensor) -> Outcome:
    found = solve(problem, start, max_steps=200)
    return Outcome(found.status is Status.CONVERGED, found.evaluations)


def _solved_large(name: str) -> Outcome:
    problem, start, least = LARGE[name]()
    found = solve(problem, start, max_steps=200)
    return Outcome(found.status is Status.CONVERGED and abs(found.f - least) <= 1e-6 * (1 + least), found.evaluations)


def _answered_honestly(case: Hidden) -> Outcome:
    found = solve(case.problem, torch.tensor(case.start, dtype=torch.float64), max_steps=300)
    right = not is_false(case, found) and found.status is (Status.CONVERGED if case.solved else Status.LOCAL)
    if case.answer is not None:
        right = right and abs(found.f - case.answer) <= 1e-5 * (1 + abs(case.answer))
    return Outcome(right, found.evaluations)


@cache
def _least(at: int) -> float:
    return solve(CASES[at].problem, torch.tensor(CASES[at].starts[0], dtype=torch.float64), max_steps=500).f


def _solved_in_units(at: int, of_f: float, of_g: float, spread: float) -> Outcome:
    """A case of the bank in other units."""
    case = CASES[at]
    start = torch.tensor(case.starts[0], dtype=torch.float64)
    d = start.numel()
    sizes = torch.logspace(-1, 1, d, base=spread, dtype=torch.float64) if d > 1 else start.new_tensor([spread])
    found = solve(in_other_units(case, of_f, of_g, sizes), start * sizes, max_steps=500)
    error = abs(found.f / of_f - _least(at)) / (1 + abs(_least(at)))
    return Outcome(error <= 1e-4 and bool((found.g / of_g <= 1e-4).all()), found.evaluations)


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


def _solved_at_random(seed: int) -> Outcome:
    """Right is a KKT point; where there are several, any."""
    problem, start = random_problem(seed)
    found = solve(problem, start, max_steps=150)
    return Outcome(found.status is Status.CONVERGED, found.evaluations)


def _waits(case: Case) -> Outcome:
    """How often a run waits for the device, in place of its evaluations."""
    with Accelerator() as accelerator:
        start = Remote(torch.tensor(case.starts[0], dtype=torch.float64))
        found = solve(case.problem, start, max_steps=200)
    return Outcome(found.status is Status.CONVERGED, accelerator.crossings)


def _float64() -> Iterator[tuple[str, Small]]:
    for at, case in enumerate(CASES):
        for i, start in enumerate(case.starts):
            yield f"{case.name}-{i}", Small(len(start), partial(_solved, case, at, start))


def _kinks(solved: Callable[[Kink, Sequence[float]], Outcome]) -> Iterator[tuple[str, Small]]:
    for kink in KINKS:
        for i, start in enumerate(kink.starts):
            yield f"{kink.name}-{i}", Small(len(start), partial(solved, kink, start))


def _infeasible() -> Iterator[tuple[str, Small]]:
    for name, (problem, least) in INFEASIBLE.items():
        for i, start in enumerate(([2.0, 1.0], [-5.0, 0.5], [0.0, 0.0])):
            yield f"{name}-{i}", Small(2, partial(_found_infeasible, problem, least, start))


def _semi_infinite() -> Iterator[tuple[str, Small]]:
    for seed in range(SEMI_INFINITE):
        problem, start = random_semi_infinite(seed)
        yield f"random {seed}", Small(start.numel(), partial(_solved_semi_infinite, problem, start))
    for name in ("goffin", "box over a simplex", "l1 ball", "l1 ball of 100"):
        yield name, Small(LARGE[name]().start.numel(), partial(_solved_large, name))


def _units() -> Iterator[tuple[str, Small]]:
    for at, case in enumerate(CASES):
        if case.x is not None and case.convex:
            for units in UNITS:
                yield f"{case.name} {units}", Small(len(case.starts[0]), partial(_solved_in_units, at, *units))


BANK: dict[str, dict[str, Small]] = {
    "float64": dict(_float64()),
    "float32": {
        case.name: Small(len(case.starts[0]), partial(_solved_in_float32, case)) for case in CASES if case.single
    },
    "kinks": dict(_kinks(_solved_at_a_kink)),
    "tensors": dict(_kinks(_solved_in_tensors)),
    "infeasible": dict(_infeasible()),
    "random": {
        str(seed): Small(random_problem(seed)[1].numel(), partial(_solved_at_random, seed)) for seed in range(RANDOM)
    },
    "bounds": {
        case.name: Small(len(case.start), partial(_solved_within_bounds, case))
        for case in (*equalities(), *bounds(), *both())
    },
    "semi_infinite": dict(_semi_infinite()),
    "hidden": {case.name: Small(len(case.start), partial(_answered_honestly, case)) for case in HIDDEN},
    "units": dict(_units()),
    "waits": {case.name: Small(len(case.starts[0]), partial(_waits, case)) for case in CASES[::3]},
}
