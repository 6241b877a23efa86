"""Terms that are linear over a box of many variables: their worst cases are a whole face at the answer."""

import pytest
import torch
from torch import Tensor

from idbpd.optim import Constraint, Problem, Status, solve
from idbpd.optim.sets import Box

DOUBLE = torch.float64


def _signs(n: int) -> Box:
    return Box(-torch.ones(n, dtype=DOUBLE), 1.0)


def _projected(a: Tensor, radius: float) -> Tensor:
    sizes = a.abs().sort(descending=True).values
    excess = (sizes.cumsum(0) - radius) / torch.arange(1, a.numel() + 1)
    threshold = excess[int((sizes > excess).sum()) - 1]
    return a.sign() * (a.abs() - threshold).clamp(min=0)


@pytest.mark.parametrize(("n", "share"), [(20, 0.05), (100, 0.3), (100, 0.01), (1000, 0.3)])
def test_projections_onto_an_l1_ball(n: int, share: float) -> None:
    a = torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=DOUBLE)
    radius = share * float(a.abs().sum())
    problem = Problem(
        lambda x: 0.5 * (x - a).square().sum(), constraints=[Constraint(lambda x, w: w @ x - radius, over=_signs(n))]
    )
    solution = solve(problem, torch.zeros(n, dtype=DOUBLE), max_steps=60)
    assert solution.status is Status.CONVERGED, solution.reason
    assert isinstance(solution.x, Tensor)
    answer = _projected(a, radius)
    assert torch.allclose(solution.x, answer, rtol=0, atol=1e-9)
    # The certificate itself: one w of the box, worst at x, with a multiplier.
    w = solution.w[0]
    assert w is not None
    assert float(w.abs().max()) <= 1 + 1e-12
    assert float(w @ solution.x) == pytest.approx(radius, abs=1e-9)
    assert torch.allclose(answer - a, -solution.multipliers[0] * w, rtol=0, atol=1e-6)


def _regression(n: int, rows: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(n)
    A = torch.randn(rows, n, generator=random, dtype=DOUBLE)
    return A, A[:, :5].sum(1) + 0.1 * torch.randn(rows, generator=random, dtype=DOUBLE)


@pytest.mark.parametrize(("n", "rows"), [(20, 40), (100, 50)])
def test_a_penalty_on_the_sum_of_moduli_in_the_objective(n: int, rows: int) -> None:
    A, b = _regression(n, rows)
    price = 5.0
    problem = Problem(lambda x, y: 0.5 * (A @ x - b).square().sum() + price * (y @ x), over=_signs(n))
    solution = solve(problem, torch.zeros(n, dtype=DOUBLE), max_steps=120)
    assert solution.status is Status.CONVERGED, solution.reason
    assert isinstance(solution.x, Tensor)
    # The conditions of the lasso.
    slopes = A.T @ (A @ solution.x - b)
    is_used = solution.x.abs() > 1e-6
    assert 0 < int(is_used.sum()) < n
    assert float(slopes.abs().max()) <= price + 1e-5
    assert torch.allclose(slopes[is_used], -price * solution.x[is_used].sign(), rtol=0, atol=1e-5)


def test_a_limit_on_the_sum_of_moduli() -> None:
    A, b = _regression(60, 100)
    limit = Constraint(lambda x, w: w @ x - 2.0, over=_signs(60))
    problem = Problem(lambda x: 0.5 * (A @ x - b).square().sum(), constraints=[limit])
    solution = solve(problem, torch.zeros(60, dtype=DOUBLE), max_steps=60)
    assert solution.status is Status.CONVERGED, solution.reason
    assert isinstance(solution.x, Tensor)
    slopes, price = A.T @ (A @ solution.x - b), float(solution.multipliers[0])
    is_used = solution.x.abs() > 1e-6
    assert float(slopes.abs().max()) <= price + 1e-5
    assert torch.allclose(slopes[is_used], -price * solution.x[is_used].sign(), rtol=0, atol=1e-5)
    assert float(solution.x.abs().sum()) == pytest.approx(2.0, abs=1e-6)


def test_slopes_that_are_not_linear_in_x() -> None:
    a = torch.linspace(0.5, 1.5, 30, dtype=DOUBLE)
    problem = Problem(lambda x, y: y @ (x**2 - a) + 0.05 * (x - 0.3).square().sum(), over=_signs(30))
    solution = solve(problem, torch.full((30,), 0.7, dtype=DOUBLE), max_steps=40)
    assert solution.status is Status.CONVERGED, solution.reason
    assert isinstance(solution.x, Tensor)
    assert torch.allclose(solution.x, a.sqrt(), rtol=0, atol=1e-6)


def test_limits_that_cannot_be_kept_are_no_answer() -> None:
    c = torch.ones(40, dtype=DOUBLE)
    near_zero = Constraint(lambda x, w: w @ x - 4.0, over=_signs(40))
    near_one = Constraint(lambda x, w: w @ (x - c) - 25.0, over=_signs(40))
    problem = Problem(lambda x: (x - 0.5).square().sum(), constraints=[near_zero, near_one])
    solution = solve(problem, torch.zeros(40, dtype=DOUBLE), max_steps=150)
    assert solution.status is Status.INFEASIBLE
