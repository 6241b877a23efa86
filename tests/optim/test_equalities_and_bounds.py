"""Equalities and bounds on x: published answers, multipliers, certificates, and what is refused."""

import math

import pytest
import torch
from torch import Tensor

from idbpd.baselines.gdma import GDMA
from idbpd.optim import IDBPD, Constraint, Problem, Solution, Status, load_state, save_state, solve
from idbpd.optim.sets import Ball, Box, Simplex
from tests.optim.bank.hock_schittkowski import Published, both, bounds, equalities

ALL = [*equalities(), *bounds(), *both()]


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def point_of(solution: Solution) -> Tensor:
    assert isinstance(solution.x, Tensor)
    return solution.x


def lagrangian(problem: Problem, solution: Solution) -> Tensor:
    """The gradient of the Lagrangian by autograd alone, for a problem without sets."""
    x = point_of(solution).clone().requires_grad_()
    total = problem.objective(x).reshape(())
    for one, multiplier in zip(problem.constraints, solution.multipliers, strict=True):
        total = total + multiplier * one.psi(x)
    if problem.equalities:
        total = total + solution.equality_multipliers @ torch.cat([h(x).reshape(-1) for h in problem.equalities])
    if solution.bound_multipliers is not None:
        assert isinstance(solution.bound_multipliers, Tensor)
        total = total - solution.bound_multipliers @ x
    return torch.autograd.grad(total, x)[0]


def assert_within(problem: Problem, x: Tensor) -> None:
    if problem.bounds is not None:
        low, high = problem.bounds
        assert not isinstance(low, dict)
        assert not isinstance(high, dict)
        assert low is None or bool((x >= torch.as_tensor(low)).all())
        assert high is None or bool((x <= torch.as_tensor(high)).all())


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_published_answer(case: Published) -> None:
    problem = case.problem

    solution = solve(problem, at(*case.start), max_steps=500)

    assert solution.status is Status.CONVERGED, solution.reason
    assert solution.f == pytest.approx(case.f, abs=case.accuracy * (1 + abs(case.f)))
    x = point_of(solution)
    if case.x is not None:
        torch.testing.assert_close(x, at(*case.x), rtol=0, atol=1e-4)
    assert_within(problem, x)
    assert float(lagrangian(problem, solution).norm()) <= 2e-6
    if problem.equalities:
        assert float(problem.equalities[0](x).abs().amax()) <= 1e-6
        assert solution.h.shape == solution.equality_multipliers.shape
    assert solution.g.shape == solution.multipliers.shape == (len(problem.constraints),)
    assert bool((solution.multipliers >= 0).all())
    assert solution.evaluations <= 150


def test_the_sign_and_size_of_multipliers() -> None:
    """x + 2 y = 3 and x <= 0.5: f = x^2 + y^2 at (0.5, 1.25), by hand."""
    problem = Problem(
        lambda x: x @ x, equalities=[lambda x: x[0] + 2 * x[1] - 3], bounds=(at(-1, -1), at(0.5, math.inf))
    )

    solution = solve(problem, at(0, 0))

    torch.testing.assert_close(point_of(solution), at(0.5, 1.25), rtol=0, atol=1e-6)
    torch.testing.assert_close(solution.equality_multipliers, at(-1.25), rtol=0, atol=1e-5)
    torch.testing.assert_close(solution.bound_multipliers, at(-0.25, 0), rtol=0, atol=1e-5)
    # A bound multiplier is the derivative of the least value with respect to the bound.
    moved = solve(
        Problem(lambda x: x @ x, equalities=problem.equalities, bounds=(at(-1, -1), at(0.501, math.inf))), at(0, 0)
    )
    assert (moved.f - solution.f) / 0.001 == pytest.approx(-0.25, abs=0.01)


def test_every_point_that_is_evaluated_is_within_the_bounds() -> None:
    def objective(x: Tensor) -> Tensor:
        assert bool((x >= 0).all() & (x <= 2).all())
        return (x[0] - 3) ** 2 + x[1].sqrt() + (x[0] * x[1] - 1) ** 2

    problem = Problem(objective, equalities=[lambda x: x.square().sum() - 4.5], bounds=(0, 2))

    solution = solve(problem, at(5.0, 1.0))

    assert solution.status is Status.CONVERGED, solution.reason
    torch.testing.assert_close(point_of(solution), at(2.0, math.sqrt(0.5)), rtol=0, atol=1e-6)


def test_semi_infinite_problem_with_equality_and_bounds() -> None:
    """Chebyshev approximation of t^2 by a line on [0, 1] that is exact at 0.5: x0 + t x1, with x1 bounded."""
    free = Problem(
        lambda x, w: (x[0] + x[1] * w[0] - w[0] ** 2).square(),
        over=Box(at(0.0), at(1.0)),
        equalities=[lambda x: x[0] + 0.5 * x[1] - 0.25],
        bounds=(None, at(math.inf, 0.75)),
    )

    solution = solve(free, at(0.0, 0.0))

    # The errors at the ends are 0.25 - x1/2 and x1/2 - 0.75: equal at x1 = 1, so the bound decides.
    assert solution.status is Status.CONVERGED, solution.reason
    torch.testing.assert_close(point_of(solution), at(-0.125, 0.75), rtol=0, atol=1e-5)
    assert solution.f == pytest.approx(0.375**2, abs=1e-6)


def test_kinks_with_equality_and_bound() -> None:
    """The largest of |x0|, |x1| and |x2| as a worst case over a simplex, x0 + x1 + x2 = 1, x2 <= 0.2."""
    problem = Problem(
        lambda x, y: y @ torch.cat([x, -x]),
        over=Simplex(6),
        equalities=[lambda x: x.sum() - 1],
        bounds=(None, at(math.inf, math.inf, 0.2)),
    )

    solution = solve(problem, at(2.0, -1.0, 0.0))

    assert solution.status is Status.CONVERGED, solution.reason
    torch.testing.assert_close(point_of(solution), at(0.4, 0.4, 0.2), rtol=0, atol=1e-6)
    torch.testing.assert_close(solution.equality_multipliers, at(-0.5), rtol=0, atol=1e-6)
    torch.testing.assert_close(solution.bound_multipliers, at(0.0, 0.0, -0.5), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_constraint_over_a_ball_with_equality_and_bounds(dtype: torch.dtype) -> None:
    """max_w <w, x> <= 1 is ||x|| <= 1; with x0 = x1 and x2 <= 0.5 the largest sum is known."""
    problem = Problem(
        lambda x: -x.sum(),
        constraints=[Constraint(lambda x, w: w @ x - 1, Ball(torch.zeros(3), 1.0))],
        equalities=[lambda x: x[0] - x[1]],
        bounds=(-1.0, torch.tensor([1.0, 1.0, 0.5])),
    )

    solution = solve(problem, torch.zeros(3, dtype=dtype), tolerance=1e-6 if dtype == torch.float64 else 1e-4)

    side = math.sqrt(0.75 / 2)
    assert solution.status is Status.CONVERGED, solution.reason
    expected = torch.tensor([side, side, 0.5], dtype=dtype)
    torch.testing.assert_close(point_of(solution), expected, rtol=0, atol=1e-6 if dtype == torch.float64 else 1e-3)


def test_dict_of_tensors_with_bounds_for_some() -> None:
    problem = Problem(
        lambda x: (x["a"] - 2).square().sum() + (x["b"] + 1).square().sum(),
        equalities=[lambda x: x["a"].sum() - x["b"].sum()],
        bounds=({"b": 0.0}, {"a": torch.tensor([[1.0, math.inf]])}),
    )
    start = {"a": torch.zeros(1, 2, dtype=torch.float64), "b": torch.zeros((), dtype=torch.float64)}

    solution = solve(problem, start)

    assert solution.status is Status.CONVERGED, solution.reason
    assert isinstance(solution.x, dict)
    assert isinstance(solution.bound_multipliers, dict)
    assert list(solution.bound_multipliers) == ["a", "b"]
    assert solution.bound_multipliers["a"].shape == (1, 2)
    total = solution.x["a"].sum()
    assert float(total - solution.x["b"]) == pytest.approx(0, abs=1e-6)
    assert float(solution.x["a"][0, 0]) == pytest.approx(float(solution.x["a"][0, 1]), abs=1e-5)


@pytest.mark.parametrize("d", [200, 1000])
def test_many_bounds(d: int) -> None:
    """A convex quadratic in a box: the answer is a projected fixed point of the gradient."""
    generator = torch.Generator().manual_seed(0)
    target = torch.randn(d, generator=generator, dtype=torch.float64)
    weights = torch.logspace(0, 2, d, dtype=torch.float64)

    def objective(x: Tensor) -> Tensor:
        return (weights * (x - target).square()).sum() + (x[1:] - x[:-1]).square().sum()

    solution = solve(Problem(objective, bounds=(0.0, 0.5)), torch.zeros(d, dtype=torch.float64))

    assert solution.status is Status.CONVERGED, solution.reason
    x = point_of(solution).clone().requires_grad_()
    gradient, x = torch.autograd.grad(objective(x), x)[0], x.detach()
    assert float((x - (x - gradient).clamp(0.0, 0.5)).abs().amax()) <= 1e-6
    assert int(((x == 0) | (x == 0.5)).sum()) > d // 2


def test_equalities_that_contradict_each_other() -> None:
    problem = Problem(lambda x: x @ x, equalities=[lambda x: torch.stack([x.sum() - 1, x.sum() + 1])])

    solution = solve(problem, at(0.3, 0.4))

    assert solution.status is Status.INFEASIBLE
    assert solution.kkt.infeasibility == pytest.approx(1, abs=1e-5)


def test_a_constraint_that_the_bounds_forbid() -> None:
    problem = Problem(lambda x: x @ x, constraints=[Constraint(lambda x: 3 - x.sum())], bounds=(0, 1))

    solution = solve(problem, at(0.3, 0.4))

    assert solution.status is Status.INFEASIBLE
    torch.testing.assert_close(point_of(solution), at(1, 1), rtol=0, atol=1e-6)


def test_a_saved_run_goes_on_exactly(tmp_path: object) -> None:
    case = next(case for case in both() if case.name == "hs71")
    whole = solve(case.problem, at(*case.start))
    part = solve(case.problem, at(*case.start), max_steps=2)
    save_state(part.state, f"{tmp_path}/state")

    resumed = solve(case.problem, at(*case.start), state=load_state(f"{tmp_path}/state"))

    assert torch.equal(point_of(resumed), point_of(whole))
    assert torch.equal(resumed.equality_multipliers, whole.equality_multipliers)


def test_other_methods_refuse_what_they_cannot_do() -> None:
    with pytest.raises(ValueError, match=r"Algorithm1 takes no bounds on x; use IDBPD"):
        solve(Problem(lambda x: x @ x, bounds=(0, 1)), at(0.5), IDBPD.paper())
    with pytest.raises(ValueError, match=r"GDMA takes no equalities; use IDBPD"):
        solve(Problem(lambda x: x @ x, equalities=[lambda x: x - 1]), at(0.5), GDMA(rho=1, gamma=0.1))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((1, 0), r"low must be at most high, but x\[0\] has 1.0 and 0.0"),
        ((torch.zeros(3), None), r"bounds\[0\] must have the shape \(2,\) of x0, or be a number, got \(3,\)"),
        ((None, "a"), r"bounds\[1\] must be a number, a tensor or None, got str"),
        ((math.inf, None), r"bounds\[0\]: inf leaves no x"),
        ((None, math.nan), r"bounds\[1\] must not hold NaN"),
        (({"a": 0}, None), "as x0 is no dict"),
    ],
)
def test_bounds_that_mean_nothing(bounds: tuple[object, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        solve(Problem(lambda x: x @ x, bounds=bounds), at(0.5, 0.5))  # type: ignore[arg-type]


def test_problems_that_mean_nothing() -> None:
    with pytest.raises(TypeError, match=r"bounds must be a pair \(low, high\)"):
        Problem(lambda x: x @ x, bounds=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"write equalities=\[h\]"):
        Problem(lambda x: x @ x, equalities=lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"equalities\[0\].* is called with \(x\), but takes \(x, w\)"):
        Problem(lambda x: x @ x, equalities=[lambda x, w: x @ w])  # type: ignore[list-item, misc]
    with pytest.raises(TypeError, match="an equality has no set"):
        Problem(lambda x: x @ x, equalities=[Constraint(lambda x: x)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"equalities\[0\] must return a floating-point tensor"):
        solve(Problem(lambda x: x @ x, equalities=[lambda x: 1.0]), at(0.5))  # type: ignore[list-item, return-value]  # noqa: ARG005
    with pytest.raises(ValueError, match="x0 has not; x0 has a"):
        solve(Problem(lambda x: x["a"] @ x["a"], bounds=({"b": 0}, None)), {"a": at(1)})


def test_an_objective_without_a_lower_bound_within_the_bounds() -> None:
    solution = solve(Problem(lambda x: -x[0] + x[1] ** 2, bounds=(0, None)), at(0, 1))

    assert solution.status is Status.DIVERGED
    assert solution.evaluations <= 100


def test_variables_that_are_held() -> None:
    fixed = Problem(lambda x: (x - 2).square().sum(), bounds=(at(1, -math.inf, 0), at(1, math.inf, 1)))

    solution = solve(fixed, at(0, 0, 0))

    torch.testing.assert_close(solution.x, at(1, 2, 1), rtol=0, atol=1e-7)
    torch.testing.assert_close(solution.bound_multipliers, at(-2, 0, -2), rtol=0, atol=1e-6)
