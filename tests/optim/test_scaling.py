"""Units: an answer does not depend on those of the objective, of the constraints and of the variables."""

import math
from collections.abc import Callable
from functools import cache

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Constraint, Problem, Solution, Status, load_state, save_state, solve
from tests.optim.bank import CASES, Case
from tests.optim.bank.hock_schittkowski import both
from tests.optim.test_solve import Quadratic

NAMES = ("active", "robust_lp", "min_max", "hs35", "hs43", "hs76", "rosenbrock_disc", "near_uniform")
SOME = [case for case in CASES if case.name in NAMES]


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def point_of(solution: Solution) -> Tensor:
    assert isinstance(solution.x, Tensor)
    return solution.x


@cache
def in_own_units(name: str) -> Solution:
    """What the default method finds for a case as it is."""
    case = next(case for case in SOME if case.name == name)
    return solve(case.problem, at(*case.starts[0]))


def times(factor: float, function: Callable[..., Tensor], sizes: Tensor, has_set: bool) -> Callable[..., Tensor]:
    if has_set:
        return lambda x, w: factor * function(x / sizes, w)
    return lambda x: factor * function(x / sizes)


def in_other_units(case: Case, of_f: float, of_g: float, sizes: Tensor) -> Problem:
    problem = case.problem
    constraints = [
        Constraint(times(of_g, one.psi, sizes, one.over is not None), one.over, one.concave)
        for one in problem.constraints
    ]
    objective = times(of_f, problem.objective, sizes, problem.over is not None)
    return Problem(objective, problem.over, constraints, problem.concave)


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
@pytest.mark.parametrize(
    ("of_f", "of_g", "spread"),
    [(1e-7, 1, 1), (1, 1e-6, 1), (1, 1e6, 1), (1, 1, 1e3), (1, 1, 1e6), (1e-4, 1e-5, 1e4)],
)
def test_the_answer_does_not_depend_on_units(case: Case, of_f: float, of_g: float, spread: float) -> None:
    start = at(*case.starts[0])
    d = start.numel()
    sizes = torch.logspace(-1, 1, d, base=spread, dtype=torch.float64) if d > 1 else at(spread)
    plain = in_own_units(case.name)

    solution = solve(in_other_units(case, of_f, of_g, sizes), start * sizes, max_steps=500)

    assert solution.f / of_f == pytest.approx(plain.f, abs=1e-4 * (1 + abs(plain.f)))
    assert float((solution.g / of_g).clamp(min=0).sum()) <= 1e-4
    if solution.status is Status.CONVERGED:
        assert solution.kkt.worst <= 1e-6
    else:  # as far as rounding allows at the tolerance in these units
        assert "rounding" in solution.reason
        assert spread == 1e6


def test_residuals_and_multipliers_are_those_of_the_user() -> None:
    case = next(case for case in SOME if case.name == "active")
    sizes = at(1e-3, 1e5)
    problem = in_other_units(case, 1e-5, 1e-6, sizes)

    solution = solve(problem, at(0, 0))

    assert not solution.state.scaling.is_plain
    x = point_of(solution).clone().requires_grad_()
    w = solution.w[0]
    lagrangian = problem.objective(x) + solution.multipliers @ torch.stack([problem.constraints[0].psi(x, w)])
    gradient = torch.autograd.grad(lagrangian, x)[0]
    assert float(gradient.norm()) == pytest.approx(solution.kkt.stationarity, abs=1e-12)
    assert float(problem.objective(x.detach())) == pytest.approx(solution.f, rel=1e-12)
    assert float(solution.g.clamp(min=0)) == pytest.approx(solution.kkt.infeasibility, abs=1e-15)
    assert float(solution.multipliers) == pytest.approx(1.2360679775 * 1e-5 / 1e-6, rel=1e-3)
    assert float(solution.history.f[-1]) == pytest.approx(solution.f, rel=1e-12)


def test_equalities_and_bounds_in_other_units() -> None:
    """HS71 with variables from 1e-3 to 1e3 and an equality times 1e-6."""
    case = next(case for case in both() if case.name == "hs71")
    plain = solve(case.problem, at(*case.start))
    sizes = at(1e-3, 1e-1, 1e1, 1e3)
    problem = Problem(
        lambda x: case.problem.objective(x / sizes),
        constraints=[Constraint(lambda x: case.problem.constraints[0].psi(x / sizes))],
        equalities=[lambda x: 1e-6 * case.problem.equalities[0](x / sizes)],
        bounds=(sizes, 5 * sizes),
    )

    solution = solve(problem, at(*case.start) * sizes)

    assert solution.f == pytest.approx(plain.f, abs=1e-4)
    torch.testing.assert_close(solution.equality_multipliers, 1e6 * plain.equality_multipliers, rtol=1e-3, atol=0)
    assert isinstance(solution.bound_multipliers, Tensor)
    assert isinstance(plain.bound_multipliers, Tensor)
    torch.testing.assert_close(solution.bound_multipliers * sizes, plain.bound_multipliers, rtol=1e-3, atol=1e-4)
    assert bool((point_of(solution) >= sizes).all())


def test_sizes_that_the_user_knows(tmp_path: object) -> None:
    def objective(x: Tensor) -> Tensor:
        u = x / at(1e-4, 1e4, 1)
        return (u - at(1, -2, 3)).square().sum() + u.prod().sin()

    start = at(0, 0, 0)
    solution = solve(Problem(objective), start, x_scale=at(1e-4, 1e4, 1))
    half = solve(Problem(objective), start, x_scale=at(1e-4, 1e4, 1), max_steps=3)
    save_state(half.state, f"{tmp_path}/state")

    assert solution.status is Status.CONVERGED
    assert solution.state.scaling.x is not None
    # Powers of two: the way to the user and back costs no digit.
    assert bool((solution.state.scaling.x.log2() == solution.state.scaling.x.log2().round()).all())
    resumed = solve(Problem(objective), start, state=load_state(f"{tmp_path}/state"))
    assert torch.equal(point_of(resumed), point_of(solution))


def test_a_relative_tolerance() -> None:
    """An objective of 1e11 cannot have a gradient of 1e-6 in float64, but one of 1e-7 of that at the start."""
    problem = Problem(lambda x: 1e11 * (torch.exp(x[0] - x[1]) + (x[0] + x[1] - 2) ** 2 + x[1] ** 4))
    start = at(-1, 1)

    absolute, relative = solve(problem, start, max_steps=300), solve(problem, start, relative_tolerance=1e-7)

    assert absolute.status is Status.MAX_STEPS
    assert relative.status is Status.CONVERGED
    leaf = start.clone().requires_grad_()
    slope = float(torch.autograd.grad(problem.objective(leaf), leaf)[0].norm())
    assert 1e-6 < relative.kkt.stationarity <= 1.5e-7 * slope
    torch.testing.assert_close(point_of(relative), point_of(absolute), rtol=0, atol=1e-5)


def test_refusals() -> None:
    problem = Problem(lambda x: x @ x)
    with pytest.raises(ValueError, match=r"x_scale must be positive and finite, but x\[1\] has 0.0"):
        solve(problem, at(1, 1), x_scale=at(1, 0))
    with pytest.raises(ValueError, match=r"x_scale must have the shape \(2,\) of x0"):
        solve(problem, at(1, 1), x_scale=at(1, 1, 1))
    with pytest.raises(ValueError, match="relative_tolerance must be positive and finite, got -1"):
        solve(problem, at(1, 1), relative_tolerance=-1)
    with pytest.raises(ValueError, match="relative_tolerance is for a Problem and the method IDBPD"):
        solve(problem, at(1, 1), IDBPD.paper(), relative_tolerance=1e-3)
    with pytest.raises(ValueError, match="x_scale is for a Problem"):
        solve(Quadratic(), at(1, 1), x_scale=math.pi)
