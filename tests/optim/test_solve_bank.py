"""The default method on every small problem from every start: right point, right value, right multipliers, real
certificate.
"""

import math
import statistics
import warnings

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from idbpd.optim import IDBPD, RunState, Solution, Status, solve
from tests.optim.bank import CASES, PUBLISHED, Case, Closed

# Smooth, but the worst case moves from one corner of its set to another within a step.
FAST = {"dro_objective_10_0.1", "dro_both_10_0.1", "dro_objective_8_0.02", "dro_both_8_0.02", "weights_and_worst_case"}
RUNS = [pytest.param(case, start, id=f"{case.name}-{i}") for case in CASES for i, start in enumerate(case.starts)]


def gradient_of(function: Closed, x: Tensor) -> Tensor:
    point = x.clone().requires_grad_()
    return torch.autograd.grad(function(point), point)[0]


def point_of(solution: Solution) -> Tensor:
    assert isinstance(solution.x, Tensor)
    return solution.x.to(torch.float64)


def reference(case: Case, start: list[float]) -> float:
    """The least value that SLSQP finds on the closed form, from the start and a few points around it."""

    def wrapped(function: Closed, sign: float) -> dict[str, object]:
        return {
            "fun": lambda x: sign * float(function(torch.tensor(x))),
            "jac": lambda x: sign * gradient_of(function, torch.tensor(x)).numpy(),
        }

    objective = wrapped(case.f, 1.0)
    constraints = [{"type": "ineq", **wrapped(g, -1.0)} for g in case.g]
    generator = np.random.default_rng(0)
    best = math.inf
    for spread in (0.0, 0.5):
        x0 = np.array(start, dtype=float) + spread * generator.standard_normal(len(start))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimize(
                objective["fun"], x0, jac=objective["jac"], constraints=constraints, method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-14},
            )  # fmt: skip
        if math.isfinite(found.fun) and all(float(g(torch.tensor(found.x))) < 1e-7 for g in case.g):
            best = min(best, float(found.fun))
    return best


class _Rows:
    """In how many states of a run the model had more than one row per term."""

    def __init__(self) -> None:
        self.steps = 0

    def due(self, step: int) -> bool:
        return True

    def keep(self, state: RunState) -> None:
        self.steps += state.method.bundle is not None


@pytest.mark.parametrize(("case", "start"), RUNS)
def test_answer_in_float64(case: Case, start: list[float]) -> None:
    rows = _Rows()
    solution = solve(case.problem, torch.tensor(start, dtype=torch.float64), max_steps=500, keeper=rows)

    assert solution.status is Status.CONVERGED, solution.reason
    # Ordinary problems are not scaled, and smooth ones have one row per term.
    is_ordinary = not case.name.startswith("scaled_") and case.name != "ill_conditioned"
    assert solution.state.scaling.is_plain or not is_ordinary
    assert rows.steps == 0 or case.name in FAST
    assert solution.kkt.worst <= 1e-6
    x = point_of(solution)
    # The certificate again, from the closed form alone.
    assert all(float(g(x)) <= 2e-6 for g in case.g)
    lagrangian = gradient_of(case.f, x)
    for multiplier, g in zip(solution.multipliers, case.g, strict=True):
        assert float(multiplier) >= 0
        assert abs(float(multiplier * g(x))) <= 2e-6
        lagrangian = lagrangian + multiplier * gradient_of(g, x)
    assert float(lagrangian.norm()) <= 1e-5
    if case.x is not None and case.convex:
        scale = max(1.0, math.hypot(*case.x))
        torch.testing.assert_close(x, torch.tensor(case.x, dtype=torch.float64), rtol=0, atol=case.accuracy * scale)
    elif case.convex:
        best = reference(case, start)
        assert float(case.f(x)) <= best + 1e-5 * (1 + abs(best))
    if case.multipliers is not None:
        expected = torch.tensor(case.multipliers, dtype=torch.float64)
        torch.testing.assert_close(solution.multipliers, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("case", [case for case in CASES if case.single], ids=lambda case: case.name)
def test_answer_in_float32(case: Case) -> None:
    start = torch.tensor(case.starts[0], dtype=torch.float32)

    solution = solve(case.problem, start, max_steps=500, tolerance=1e-4)

    assert solution.status is Status.CONVERGED, solution.reason
    x = point_of(solution)
    assert all(float(g(x)) <= 3e-4 for g in case.g)
    if case.x is not None and case.convex:
        scale = max(1.0, math.hypot(*case.x))
        torch.testing.assert_close(x, torch.tensor(case.x, dtype=torch.float64), rtol=0, atol=1e-2 * scale)


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case.name)
def test_identity_metric(case: Case) -> None:
    for start in case.starts:
        solution = solve(
            case.problem, torch.tensor(start, dtype=torch.float64), IDBPD(metric="identity"), max_steps=500
        )

        assert solution.status is Status.CONVERGED, solution.reason
        if case.x is not None:
            expected = torch.tensor(case.x, dtype=torch.float64)
            torch.testing.assert_close(point_of(solution), expected, rtol=0, atol=1e-4)


def test_few_evaluations() -> None:
    counts = [
        solve(case.problem, torch.tensor(start, dtype=torch.float64)).evaluations
        for case in PUBLISHED
        for start in case.starts
    ]

    assert statistics.median(counts) <= 12
    assert max(counts) <= 30


@pytest.mark.parametrize("case", [case for case in CASES if case.name in FAST], ids=lambda case: case.name)
def test_a_fast_worst_case_helps_directions_but_not_certificates(case: Case) -> None:
    rows = _Rows()
    for start in case.starts:
        solution = solve(case.problem, torch.tensor(start, dtype=torch.float64), keeper=rows)

        assert solution.status is Status.CONVERGED
        assert solution.state.method.point.worst <= 1e-6  # with its one worst case
        assert solution.gradients <= 4 * solution.evaluations
    assert rows.steps > 0


def test_nonconvex_problem_ends_in_one_of_its_two_kkt_points() -> None:
    case = next(case for case in CASES if case.name == "nonconvex")
    for start in case.starts:
        solution = solve(case.problem, torch.tensor(start, dtype=torch.float64))
        x, multiplier = point_of(solution), float(solution.multipliers)
        near = abs(float(x[1]) - 1) <= 1e-4 and abs(multiplier - 0.3) <= 1e-3
        far = abs(float(x[1]) + 1) <= 1e-4 and abs(multiplier - 0.7) <= 1e-3
        on_axis = abs(float(x[0]) - 0.25) <= 1e-4
        outside = abs(abs(float(x[0])) - 2) <= 1e-3  # x1 = +-2 on the axis is feasible too, but not stationary
        assert on_axis
        assert near or far
        assert not outside


def test_maximisers_of_the_published_problems() -> None:
    by_name = {case.name: case for case in CASES}
    active = solve(by_name["active"].problem, torch.zeros(2, dtype=torch.float64))
    assert active.w[0] is not None
    torch.testing.assert_close(active.w[0], point_of(active), rtol=0, atol=1e-5)
    min_max = solve(by_name["min_max"].problem, torch.zeros(2, dtype=torch.float64))
    assert min_max.y is not None
    torch.testing.assert_close(min_max.y, torch.tensor([0.25, 0.75], dtype=torch.float64), rtol=0, atol=1e-5)
    dro = solve(by_name["dro_constraint"].problem, torch.zeros(1, dtype=torch.float64))
    assert dro.w[0] is not None
    torch.testing.assert_close(dro.w[0], torch.tensor([0.25, 0.75], dtype=torch.float64), rtol=0, atol=1e-5)
