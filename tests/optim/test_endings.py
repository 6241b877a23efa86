"""How a run ends when there is nothing to converge to, and that nothing non-finite escapes."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Constraint, Iterate, Oracle, Problem, Solution, Status, Verdict, solve
from idbpd.optim.sets import Ball, Box, Space


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def assert_finite(solution: Solution) -> None:
    assert isinstance(solution.x, Tensor)
    assert bool(solution.x.isfinite().all())
    assert bool(solution.multipliers.isfinite().all())
    assert not any(math.isnan(number) for number in solution.kkt)
    assert not math.isnan(solution.f)


INFEASIBLE = {
    "one constraint": (Problem(lambda x: x.sum(), constraints=[Constraint(lambda x: x @ x + 1)]), 1.0),
    "opposite": (
        Problem(lambda x: x @ x + x[0], constraints=[Constraint(lambda x: x[0] + 1), Constraint(lambda x: 1 - x[0])]),
        1.0,
    ),
    "three": (
        Problem(
            lambda x: x @ x,
            constraints=[
                Constraint(lambda x: x[0] + 1),
                Constraint(lambda x: 1 - x[0]),
                Constraint(lambda x: 3 - x[1]),
            ],
        ),
        1.0,
    ),
    "semi-infinite": (
        Problem(lambda x: x @ x, constraints=[Constraint(lambda x, w: w @ x - 0.5 * w @ w + 1, Space(2))]),
        1.0,
    ),
    "two discs": (
        Problem(
            lambda x: x[1],
            constraints=[Constraint(lambda x: x @ x - 1), Constraint(lambda x: (x[0] - 4) ** 2 + x[1] ** 2 - 1)],
        ),
        3.0,
    ),
    "constant": (Problem(lambda x: x @ x, constraints=[Constraint(lambda x: 0 * x.sum() + 2)]), 2.0),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", INFEASIBLE)
def test_a_constraint_that_cannot_be_met(name: str, dtype: torch.dtype) -> None:
    problem, least = INFEASIBLE[name]
    for start in (at(2, 1), at(-5, 0.5), at(0, 0)):
        solution = solve(problem, start.to(dtype), tolerance=1e-6 if dtype == torch.float64 else 1e-4)

        assert solution.status is Status.INFEASIBLE, solution.reason
        assert solution.kkt.infeasibility == pytest.approx(least, rel=1e-4)
        assert_finite(solution)


UNBOUNDED = {
    "linear": Problem(lambda x: -x.sum()),
    "linear on a half-plane": Problem(lambda x: -x[0], constraints=[Constraint(lambda x: x[1] - x[0])]),
    "cubic": Problem(lambda x: -(x**3).sum()),
    "concave on a half-plane": Problem(lambda x: -x @ x, constraints=[Constraint(lambda x: x[0] - 1)]),
    "exponential": Problem(lambda x: -x.exp().sum()),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", UNBOUNDED)
def test_an_objective_without_a_lower_bound(name: str, dtype: torch.dtype) -> None:
    solution = solve(UNBOUNDED[name], at(0.1, 0.2).to(dtype))

    assert solution.status is Status.DIVERGED
    assert solution.kkt.infeasibility <= 1e-6
    assert solution.f < -1e5  # how far it gets depends on the last digits, and these on the processor
    assert_finite(solution)
    assert bool(solution.history.f.isfinite().all())


def test_values_that_are_not_finite_at_the_start() -> None:
    solution = solve(Problem(lambda x: x.log().sum()), at(-1, 2))

    assert solution.status is Status.DIVERGED
    assert solution.steps == 0
    assert solution.f == math.inf
    torch.testing.assert_close(solution.x, at(-1, 2))
    assert_finite(solution)


def test_gradients_that_are_not_finite_are_backed_off_from() -> None:
    # The gradient is infinite at zero, where the value is finite. The root has no slope at the start, so that the first
    # full step lands there exactly; with nothing learnt yet there is no other metric to try.
    problem = Problem(lambda x: 0.5 * x[0] ** 2 + 1e-3 * x[0].abs().sqrt().clamp(max=0.5))

    solution = solve(problem, at(1.0), max_steps=50)

    assert float(solution.x) != 0  # type: ignore[arg-type]
    assert solution.f < 0.1
    assert_finite(solution)


@pytest.mark.parametrize("start", [at(0, 0), at(0.25, 0), at(0.9, 0), at(-0.5, 1e-9)])
@pytest.mark.parametrize("method", [IDBPD(), IDBPD(metric="identity")])
def test_leaves_a_critical_point_of_the_constraint(start: Tensor, method: IDBPD) -> None:
    # The gradient of g vanishes on the segment x2 = 0 while g = 1.
    constraint = Constraint(lambda x, w: 1 - (x[0] - w) ** 2 - x[1] ** 2, Box(-1.0, 1.0))
    for height in (0.4, 0.0):  # with 0 the objective does not help to get away either
        problem = Problem(
            lambda x, h=height: 0.5 * (x[0] - 0.25) ** 2 + 0.5 * (x[1] - h) ** 2, constraints=[constraint]
        )
        solution = solve(problem, start, method, max_steps=500)

        assert solution.status is Status.CONVERGED, solution.reason
        assert isinstance(solution.x, Tensor)
        assert abs(float(solution.x[1])) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("start", [-3.0, -0.1, 0.3, 1.0, 1.9])
def test_a_problem_without_a_multiplier(start: float) -> None:
    constraint = Constraint(lambda x, w: x[0] * w - 0.5 * w**2, Box(0.0, 2.0))
    problem = Problem(lambda x: 0.5 * (x[0] - 1) ** 2, constraints=[constraint])

    solution = solve(problem, at(start), max_steps=500)

    assert_finite(solution)
    assert abs(float(solution.x)) <= 1.5e-3  # type: ignore[arg-type]  # g = x^2 / 2 is within the tolerance there
    if solution.status is Status.CONVERGED:
        assert solution.kkt.worst <= 1e-6


def test_saddle_is_left() -> None:
    problem = Problem(lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4)

    solution = solve(problem, at(1, 1e-4))

    assert solution.f == pytest.approx(-0.25)


@pytest.mark.parametrize("metric", ["quasi-newton", "identity"])
def test_a_kink_gives_the_right_point_and_no_false_certificate(metric: str) -> None:
    # At the answer (1, 0) of min 1/2 ||x - (2, 0.3)||^2, ||x||_1 <= 1 the worst case is not unique.
    box = Box(-torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    problem = Problem(
        lambda x: 0.5 * (x[0] - 2) ** 2 + 0.5 * (x[1] - 0.3) ** 2, constraints=[Constraint(lambda x, w: w @ x - 1, box)]
    )

    solution = solve(problem, at(3, 4), IDBPD(metric=metric), max_steps=500)  # type: ignore[arg-type]

    torch.testing.assert_close(solution.x, at(1, 0), rtol=0, atol=1e-4)
    assert (solution.status is Status.CONVERGED) == (solution.kkt.worst <= 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_linear_function_over_a_ball_has_an_exact_maximiser(seed: int) -> None:
    # w'x over the unit ball is ||x||: the nearest point of the disc to (3, 4), with multiplier 4.
    generator = torch.Generator().manual_seed(seed)
    centre = torch.tensor([3.0, 4.0], dtype=torch.float64)
    problem = Problem(
        lambda x: 0.5 * (x - centre).square().sum(),
        constraints=[Constraint(lambda x, w: w @ x - 1, Ball(torch.zeros(2), 1.0))],
    )
    start = 2 * torch.randn(2, generator=generator, dtype=torch.float64)

    solution = solve(problem, start, IDBPD(), 100, 1e-6, None)

    assert solution.status is Status.CONVERGED
    torch.testing.assert_close(solution.x, centre / 5, atol=1e-5, rtol=0)
    assert solution.multipliers.item() == pytest.approx(4, abs=1e-4)


@dataclass(frozen=True)
class _LeavesTheFeasible:
    """A method that goes from any x to x + 3 and then calls the constraints impossible to meet."""

    check_every: int = 1
    picks_by_residual: bool = False
    state_type: type[tuple[Iterate, bool]] = tuple

    def init(self, oracle: Oracle, x: Tensor) -> tuple[Iterate, bool]:
        return IDBPD().iterate(IDBPD().init(oracle, x)), False

    def step(self, oracle: Oracle, state: tuple[Iterate, bool], tolerance: float) -> tuple[Iterate, bool]:
        return self.init(oracle, state[0].evaluation.x + 3)[0], True

    def iterate(self, state: tuple[Iterate, bool]) -> Iterate:
        return state[0]

    def verdict(self, state: tuple[Iterate, bool]) -> Verdict | None:
        return Verdict(Status.INFEASIBLE, "stuck") if state[1] else None


def test_a_run_that_was_feasible_before_is_not_called_infeasible() -> None:
    problem = Problem(lambda x: -x.sum(), constraints=[Constraint(lambda x: x.sum() - 1)])

    stuck = solve(problem, at(5), _LeavesTheFeasible())
    returned = solve(problem, at(0), _LeavesTheFeasible())

    assert stuck.status is Status.INFEASIBLE
    assert (returned.status, returned.kkt.infeasibility) == (Status.MAX_STEPS, 0.0)
    assert returned.reason == "stuck; an earlier point is feasible and is returned"
