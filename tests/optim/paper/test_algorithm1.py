"""Algorithm 1 against the paper's formulas, and on the problems with known answers."""

import math

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from idbpd.optim import IDBPD, Constraint, Problem, Status, solve
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.layout import Layout
from idbpd.optim.oracle import Gradients
from idbpd.optim.paper.algorithm1 import multiplier
from idbpd.optim.paper.schedules import LogarithmicSteps, TheoremConstraintSteps, theorem_barrier, theorem_step_size
from idbpd.optim.sets import Box, Simplex
from tests.optim.bank import PUBLISHED, Case


def worst_case_pair() -> Problem:
    """Exact inner problems in both places, with nothing that lives on a device of its own."""
    return Problem(
        lambda x, y: y[0] * (x[0] - 1) ** 2 + y[1] * (x[1] + 1) ** 2 - (y - 0.5).square().sum(),
        Simplex(2),
        [Constraint(lambda x, w: 1 - x[0] + w * x[1] - 0.5 * w**2, Box(-1.0, 1.0))],
    )


def test_one_step_by_hand() -> None:
    # phi = 1/2 ||x - (3, 1)||^2 + y x1 - 1/2 y^2 over |y| <= 1, psi = w (x1 + x2) - 1/2 w^2 - 1 over |w| <= 10.
    problem = Problem(
        lambda x, y: 0.5 * (x[0] - 3) ** 2 + 0.5 * (x[1] - 1) ** 2 + y * x[0] - 0.5 * y**2,
        Box(-1.0, 1.0),
        [Constraint(lambda x, w: w * (x[0] + x[1]) - 0.5 * w**2 - 1, Box(-10.0, 10.0))],
    )
    method = IDBPD.paper(gamma=0.05, alpha=0.5)
    oracle = AutogradOracle(problem, Layout(None, (torch.Size([2]),)))
    x = torch.tensor([2.0, 1.0], dtype=torch.float64)

    first = method.init(oracle, x)
    second = method.step(oracle, first, 1e-6)

    y, w = 1.0, 3.0  # the maximisers at x: y is at its bound, w = x1 + x2
    assert float(first.evaluation.maximisers.y) == pytest.approx(y)  # type: ignore[arg-type]
    assert float(first.evaluation.maximisers.w[0]) == pytest.approx(w)  # type: ignore[arg-type]
    psi = w * 3 - 0.5 * w**2 - 1
    grad_phi, grad_psi = torch.tensor([2.0 - 3 + y, 0.0]), torch.tensor([w, w])
    alpha = 0.5 / 2**1.001
    rho = math.sqrt(18.0)
    assert psi * rho > 0  # zeta
    lam = max(-float(grad_psi @ grad_phi) + alpha * rho, 0.0) / 18.0
    torch.testing.assert_close(first.multipliers, torch.tensor([lam], dtype=torch.float64))
    expected = x + 0.05 * (-(grad_phi + lam * grad_psi)).to(torch.float64)
    torch.testing.assert_close(second.evaluation.x, expected)
    total = float(expected.sum())
    assert float(second.evaluation.maximisers.w[0]) == pytest.approx(total)  # type: ignore[arg-type]
    assert float(second.evaluation.g) == pytest.approx(0.5 * total**2 - 1)


def test_multiplier_is_zero_where_zeta_is() -> None:
    def lam(g: float, gradient: list[float]) -> Tensor:
        gradients = Gradients(torch.tensor([-5.0, 0.0]), torch.tensor([gradient]))
        return multiplier(torch.tensor([g], dtype=torch.float64), gradients, 0.1)

    assert float(lam(-0.5, [1.0, 0.0])) == 0  # feasible
    assert float(lam(0.0, [1.0, 0.0])) == 0
    assert float(lam(0.5, [0.0, 0.0])) == 0  # a critical point of psi
    assert float(lam(0.5, [1.0, 0.0])) == pytest.approx(5.1)
    assert float(lam(0.5, [-1.0, 0.0])) == 0  # the objective already takes psi down
    assert bool(lam(0.5, [1e-300, 0.0]).isfinite().all())


def test_multipliers_of_several_constraints_solve_the_quadratic_program() -> None:
    gradients = Gradients(
        torch.tensor([-1.0, -2.0, 0.5], dtype=torch.float64),
        torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64),
    )
    g = torch.tensor([0.3, 0.2, -0.1], dtype=torch.float64)

    lam = multiplier(g, gradients, 0.1)

    d = -gradients.f - lam @ gradients.g
    rho = gradients.g.norm(dim=1)
    slack = gradients.g @ d + 0.1 * rho
    assert bool((lam >= 0).all())
    assert float(lam[2]) == 0  # zeta = 0: left out, although the step takes it up
    assert bool((slack[:2] <= 1e-12).all())
    assert bool(((lam * slack)[:2].abs() <= 1e-12).all())


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case.name)
def test_published_problems_with_the_schedule_of_theorem_2(case: Case) -> None:
    horizon = 250
    method = IDBPD.paper(
        gamma=theorem_step_size(horizon, largest=0.2),
        alpha=theorem_barrier(horizon),
        constraint_steps=LogarithmicSteps(1),
        objective_steps=LogarithmicSteps(1),
    )

    solution = solve(case.problem, torch.tensor(case.starts[0], dtype=torch.float64), method, max_steps=horizon)

    assert solution.kkt.worst <= 0.1
    if case.x is not None:
        assert isinstance(solution.x, Tensor)
        torch.testing.assert_close(solution.x, torch.tensor(case.x, dtype=torch.float64), rtol=0, atol=0.03)
    if case.multipliers is not None:
        torch.testing.assert_close(solution.multipliers, torch.tensor(case.multipliers).double(), rtol=0, atol=0.1)


def test_unconstrained_variant_is_gradient_descent() -> None:
    problem = Problem(lambda x: 0.5 * (x - 2).square().sum())

    solution = solve(problem, torch.zeros(3), IDBPD.paper(gamma=0.5), max_steps=4)

    assert isinstance(solution.x, Tensor)
    torch.testing.assert_close(solution.x, torch.full((3,), 2 * (1 - 0.5**4)))


def test_returns_the_smallest_worst_residual() -> None:
    # A step size at the edge of stability: the residual goes up and down.
    problem = Problem(lambda x: 0.5 * x[0] ** 2 + 0.01 * x[0] ** 4)

    solution = solve(problem, torch.tensor([4.0], dtype=torch.float64), IDBPD.paper(gamma=1.6), max_steps=30)

    assert solution.kkt.worst == pytest.approx(float(solution.history.worst.min()))


def test_convergence_between_looks_is_found_exactly() -> None:
    problem = Problem(lambda x: 0.5 * x.square().sum())

    solution = solve(problem, torch.ones(1, dtype=torch.float64), IDBPD.paper(gamma=0.5), tolerance=1e-3)

    assert solution.status is Status.CONVERGED
    assert solution.steps == 10  # 2^-10 is the first power of a half below 1e-3
    assert float(solution.x) == 0.5**10  # type: ignore[arg-type]
    assert len(solution.history.f) == 11


def test_divergence_keeps_the_best_finite_iterate() -> None:
    problem = Problem(lambda x: x[0] ** 4, constraints=[Constraint(lambda x: x[0] - 5)])

    solution = solve(problem, torch.tensor([2.0]), IDBPD.paper(gamma=1.0), max_steps=200)

    assert solution.status is Status.DIVERGED
    assert bool(solution.x.isfinite().all())  # type: ignore[union-attr]
    assert bool(solution.history.f.isfinite().all())
    assert math.isfinite(solution.kkt.worst)


class Waits(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations that make the host wait for the device."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN204
        self.count += func.name() in ("aten::_local_scalar_dense", "aten::nonzero", "aten::item", "aten::equal")
        return func(*args, **(kwargs or {}))


def test_no_step_waits_for_the_device() -> None:
    method = IDBPD.paper()
    oracle = AutogradOracle(worst_case_pair(), Layout(None, (torch.Size([2]),)))
    state = method.init(oracle, torch.zeros(2))

    with Waits() as waits:
        for _ in range(3):
            state = method.step(oracle, state, 1e-6)
            method.iterate(state)

    assert waits.count == 0


def test_the_loop_waits_no_more_for_more_steps() -> None:
    counts = []
    for steps in (2, 8):
        with Waits() as waits:
            solve(worst_case_pair(), torch.zeros(2), IDBPD.paper(), max_steps=steps)
        counts.append(waits.count)

    assert counts[0] == counts[1]


def test_a_step_on_a_device_that_has_no_values() -> None:
    method = IDBPD.paper()
    with FakeTensorMode():
        problem = worst_case_pair()
        x = torch.empty(2, device="meta")
        oracle = AutogradOracle(problem, Layout(None, (x.shape,)))
        state = method.step(oracle, method.init(oracle, x), 1e-6)
        iterate = method.iterate(state)

    assert state.evaluation.x.device.type == "meta"
    assert iterate.multipliers.device.type == "meta"
    assert iterate.residuals.worst.device.type == "meta"


def test_steps_on_the_constraint_depend_on_the_violation() -> None:
    steps = TheoremConstraintSteps(1000, theta=0.25)

    assert steps(None) == math.ceil(2 * math.log(1000))
    assert steps(1e-6) == math.ceil(math.log(1000) - math.log(1e-6))  # more accurate the nearer to feasible
    assert not TheoremConstraintSteps(1000).needs_violation
    method = IDBPD.paper(constraint_steps=TheoremConstraintSteps(50, theta=0.25, factor=0.5))
    solution = solve(worst_case_pair(), torch.zeros(2), method, max_steps=5)
    assert solution.steps == 5
