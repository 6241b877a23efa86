"""Chi-square and KL balls: projections and worst distributions, checked by a general solver and by optimality."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from idbpd.optim.sets import ChiSquareBall, KLBall, Simplex

SETTINGS = settings(max_examples=20, deadline=None)
DivergenceBall = type[ChiSquareBall] | type[KLBall]
KINDS: list[DivergenceBall] = [ChiSquareBall, KLBall]
RADII = [1e-8, 1e-3, 0.1, 0.5, 1.0, 5.0]
vectors = st.builds(
    lambda v, scale: scale * torch.tensor(v, dtype=torch.float64),
    st.lists(st.one_of(st.integers(-3000, 3000).map(lambda k: k / 1000.0), st.just(1.0)), min_size=1, max_size=12),
    st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9]),
)


def assert_in(ball: ChiSquareBall | KLBall, y: Tensor) -> None:
    assert bool((y >= 0.0).all())
    assert abs(float(y.sum()) - 1.0) <= 1e-13
    assert float(ball.divergence(y)) <= ball.radius * (1.0 + 1e-9)


def test_the_definitions() -> None:
    y = torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64)
    assert float(ChiSquareBall(4, 1.0).divergence(y)) == pytest.approx(2.0 * (0.25**2 + 0.25**2))
    assert float(KLBall(4, 1.0).divergence(y)) == pytest.approx(0.5 * math.log(2.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", RADII)
@SETTINGS
@given(v=vectors)
def test_the_projection_meets_the_conditions_of_optimality(kind: DivergenceBall, radius: float, v: Tensor) -> None:
    ball = kind(v.numel(), radius)
    p = ball.project(v)
    assert_in(ball, p)
    # v - p is in the normal cone at p: nothing in the ball is further along it, not even the support.
    outward = v - v.max() - p
    reach = ball.support(outward) - p
    assert float(outward @ reach) <= (1.0 + float(outward.abs().max())) * (1e-12 * float(reach.norm()) + 1e-14)
    torch.testing.assert_close(ball.project(p), p, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", RADII)
@SETTINGS
@given(losses=vectors)
def test_the_worst_distribution_is_as_far_as_the_radius_allows(
    kind: DivergenceBall, radius: float, losses: Tensor
) -> None:
    ball = kind(losses.numel(), radius)
    y = ball.support(losses)
    assert_in(ball, y)
    order = losses.argsort()
    assert bool((y[order].diff() >= -1e-13).all())
    largest = losses == losses.max()
    if float(ball.divergence(y)) < radius * (1.0 - 1e-6):
        assert float(y[largest].sum()) == pytest.approx(1.0)
    elif not bool(largest.all()):
        assert float(ball.divergence(y)) == pytest.approx(radius, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [0.02, 0.2, 0.7])
def test_a_general_solver_finds_nothing_better(kind: DivergenceBall, radius: float) -> None:
    n = 6
    ball = kind(n, radius)
    v = torch.randn(n, dtype=torch.float64)
    constraints = [
        {"type": "eq", "fun": lambda y: y.sum() - 1.0},
        {"type": "ineq", "fun": lambda y: radius - float(ball.divergence(torch.from_numpy(y)))},
    ]
    options = {"ftol": 1e-14, "maxiter": 500}
    start, bounds = np.full(n, 1.0 / n), [(1e-12, 1.0)] * n
    l = v.numpy()  # noqa: E741
    worst = minimize(lambda y: -l @ y, start, bounds=bounds, constraints=constraints, method="SLSQP", options=options)
    assert float(v @ ball.support(v)) == pytest.approx(-worst.fun, abs=1e-6)
    nearest = minimize(lambda y: ((y - l) ** 2).sum(), start, bounds=bounds, constraints=constraints, options=options)
    torch.testing.assert_close(ball.project(v), torch.from_numpy(nearest.x), rtol=0.0, atol=1e-5)
    assert float((ball.project(v) - v).square().sum()) <= nearest.fun + 1e-9


def test_known_answers() -> None:
    losses = torch.tensor([1.0, 0.0], dtype=torch.float64)
    # Two outcomes: y = (1 + s, 1 - s) / 2 has the chi-square divergence s^2 / 2.
    torch.testing.assert_close(ChiSquareBall(2, 0.125).support(losses), torch.tensor([0.75, 0.25], dtype=torch.float64))
    y = KLBall(2, 0.125).support(losses)
    assert float((y * (2.0 * y).log()).sum()) == pytest.approx(0.125, abs=1e-15)
    # mean + sqrt(2 rho variance), while all weights stay positive
    losses = torch.randn(50, dtype=torch.float64)
    y = ChiSquareBall(50, 1e-3).support(losses)
    expected = losses.mean() + (2e-3 * losses.var(correction=0)).sqrt()
    torch.testing.assert_close(y @ losses, expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_large_radius_is_the_whole_simplex(kind: DivergenceBall) -> None:
    v = torch.randn(4, 7, dtype=torch.float64)
    torch.testing.assert_close(kind(7, 100.0).project(v), Simplex(7).project(v))
    torch.testing.assert_close(kind(7, 100.0).support(v), Simplex(7).support(v))


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_difference_the_answer_is_uniform(kind: DivergenceBall) -> None:
    ball = kind(5, 0.1)
    same = torch.full((5,), 3.0, dtype=torch.float64)
    torch.testing.assert_close(ball.support(same), ball.centre(same))
    torch.testing.assert_close(ball.project(same), ball.centre(same))
    assert kind(1, 0.1).project(torch.tensor([4.0])).tolist() == [1.0]
    assert kind(1, 0.1).support(torch.tensor([4.0])).tolist() == [1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_ties_at_the_top_share_the_weight(kind: DivergenceBall) -> None:
    losses = torch.tensor([0.0, 2.0, 2.0, 1.0], dtype=torch.float64)
    y = kind(4, 3.0).support(losses)
    torch.testing.assert_close(y, torch.tensor([0.0, 0.5, 0.5, 0.0], dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_vector_without_an_answer_gives_nan(kind: DivergenceBall, bad: float) -> None:
    v = torch.tensor([[0.0, bad, 1.0], [0.0, 1.0, 2.0]], dtype=torch.float64)
    for answer in (kind(3, 0.1).project(v), kind(3, 0.1).support(v)):
        assert bool(answer[0].isnan().all())
        assert bool(answer[1].isfinite().all())


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_single_precision(kind: DivergenceBall) -> None:
    ball = kind(300, 0.5)
    v = torch.randn(3, 300)
    for method in (ball.project, ball.support):
        batch = method(v)
        assert batch.dtype == torch.float32
        torch.testing.assert_close(batch, torch.stack([method(row) for row in v]), rtol=1e-5, atol=1e-8)
        assert bool(ball.contains(batch, 1e-5).all())


@pytest.mark.parametrize("kind", KINDS)
def test_many_outcomes(kind: DivergenceBall) -> None:
    ball = kind(20_000, 1.0)
    v = torch.randn(20_000, dtype=torch.float64)
    for y in (ball.support(v), ball.project(v)):
        assert_in(ball, y)
        assert float(ball.divergence(y)) == pytest.approx(1.0, rel=1e-10)


def test_a_difference_too_small_to_square_counts_as_none() -> None:
    losses = torch.tensor([0.0, 3e-232, -1.0], dtype=torch.float64)
    y = ChiSquareBall(3, 0.5).support(losses)
    torch.testing.assert_close(y, torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64))
