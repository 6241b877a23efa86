"""The projection onto the simplex: exact, at any scale, by either of its two ways."""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from idbpd.optim.sets.simplex_projection import project_onto_simplex

SETTINGS = settings(max_examples=60, deadline=None)
LONG = 5_000  # takes the other way than short vectors
scales = st.sampled_from([1e-9, 1e-4, 1.0, 1e4, 1e9])
values = st.floats(-4.0, 4.0, allow_subnormal=False)
vectors = st.builds(
    lambda v, scale: scale * torch.tensor(v, dtype=torch.float64),
    st.lists(st.one_of(values, st.sampled_from([0.0, 1.0, -1.0])), min_size=1, max_size=30),
    scales,
)


def exact_projection(v: Tensor) -> list[Fraction]:
    """The projection in rational arithmetic."""
    entries = [Fraction(x) for x in v.tolist()]
    prefix_sums = itertools.accumulate(sorted(entries, reverse=True))
    theta = max((total - 1) / k for k, total in enumerate(prefix_sums, start=1))
    return [max(x - theta, Fraction(0)) for x in entries]


def as_tensor(p: list[Fraction]) -> Tensor:
    return torch.tensor([float(x) for x in p], dtype=torch.float64)


def assert_is_projection(v: Tensor, p: Tensor) -> None:
    """Assert p is on the simplex and <v - p, z - p> <= 0 for every corner z, hence for every z."""
    eps = torch.finfo(v.dtype).eps
    assert bool((p >= 0.0).all())
    assert abs(math.fsum(p.tolist()) - 1.0) <= 8 * eps
    residual = (v - v.max() - p).double()
    assert float(residual.max() - (residual * p).sum()) <= 8 * eps


@SETTINGS
@given(vectors)
def test_it_agrees_with_rational_arithmetic(v: Tensor) -> None:
    p, exact = project_onto_simplex(v), exact_projection(v)
    # Entries of v are known to eps |v|: no better can be asked of their differences.
    torch.testing.assert_close(p, as_tensor(exact), rtol=0.0, atol=4e-16)
    clear = as_tensor(exact) > 1e-14
    assert bool((p > 0.0)[clear].all())
    outside = torch.tensor([x == 0 for x in exact])
    assert float(p[outside].sum()) <= 1e-15


@SETTINGS
@given(vectors)
def test_it_is_the_nearest_point_and_its_own_projection(v: Tensor) -> None:
    p = project_onto_simplex(v)
    assert_is_projection(v, p)
    torch.testing.assert_close(project_onto_simplex(p), p, rtol=0.0, atol=4e-16)


@SETTINGS
@given(vectors)
def test_it_does_not_expand_and_follows_permutations(v: Tensor) -> None:
    order = torch.randperm(v.numel(), generator=torch.Generator().manual_seed(v.numel()))
    p = project_onto_simplex(v)
    torch.testing.assert_close(project_onto_simplex(v[order]), p[order], rtol=0.0, atol=4e-16)
    moved = v + 0.1 * v.roll(1)
    assert float((project_onto_simplex(moved) - p).norm()) <= float((moved - v).norm()) * (1.0 + 1e-12) + 1e-15
    torch.testing.assert_close(project_onto_simplex(v + 3.0), p, rtol=0.0, atol=1e-15 * (1.0 + float(v.abs().max())))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("n", [1, 2, 100, LONG])
def test_extreme_scales(n: int, scale: float, dtype: torch.dtype) -> None:
    v = (scale * torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))).to(dtype)
    p = project_onto_simplex(v)
    assert p.dtype == dtype
    assert_is_projection(v, p)


@pytest.mark.parametrize("strength", [1e-4, 1e-3, 0.1, 10.0])
def test_a_long_vector_agrees_with_rational_arithmetic(strength: float) -> None:
    losses = torch.randn(LONG, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).square()
    v = 1.0 / LONG + losses / (strength * LONG)
    torch.testing.assert_close(project_onto_simplex(v), as_tensor(exact_projection(v)), rtol=0.0, atol=4e-16)


def hard_inputs() -> dict[str, Tensor]:
    ones = torch.ones(LONG, dtype=torch.float64)
    return {
        "all equal": ones,
        "two levels": torch.cat([ones[:1], 0.5 * ones]),
        "one far above": torch.cat([1e6 * ones[:1], ones]),
        "geometric": -torch.logspace(0.0, -15.0, LONG, dtype=torch.float64),
        "steep geometric": -torch.logspace(0.0, -300.0, LONG, dtype=torch.float64),
        "increasing": torch.linspace(0.0, 1.0, LONG, dtype=torch.float64),
        "largest last, where blocks do not reach": torch.cat([0.0 * ones[:4899], ones[:1]]),
        "minus infinity but one": torch.cat([-torch.inf * ones, ones[:1]]),
        "half minus infinity": torch.cat([-torch.inf * ones, torch.linspace(0.0, 1e-3, LONG, dtype=torch.float64)]),
    }


@pytest.mark.parametrize("name", hard_inputs())
def test_the_two_ways_to_the_threshold_agree(name: str) -> None:
    v = hard_inputs()[name]
    p, in_a_batch = project_onto_simplex(v), project_onto_simplex(v[None])[0]
    torch.testing.assert_close(in_a_batch, p, rtol=0.0, atol=1e-15)
    # The weight of the largest entry is its distance to the threshold.
    torch.testing.assert_close(in_a_batch.max(), p.max(), rtol=1e-13, atol=0.0)
    assert abs(math.fsum(p.tolist()) - 1.0) <= 2e-15


def test_many_ties_below_the_top_keep_their_small_weights_in_float32() -> None:
    n = 100_000
    v = torch.full((n,), -0.5)
    v[0] = 0.0  # theta = -0.5 - 0.5 / n: the weights 0.5 / n are far below the spacing of numbers at 0.5 times n
    p = project_onto_simplex(v)
    assert abs(float(p.sum(dtype=torch.float64)) - 1.0) <= 1e-6
    torch.testing.assert_close(p[1:], torch.full((n - 1,), 0.5 / n), rtol=1e-2, atol=0.0)


@pytest.mark.parametrize("n", [3, LONG])
def test_minus_infinity_has_no_weight(n: int) -> None:
    v = torch.randn(n, dtype=torch.float64)
    w = v.clone()
    w[::2] = -torch.inf
    p = project_onto_simplex(w)
    assert bool((p[::2] == 0.0).all())
    torch.testing.assert_close(p[1::2], project_onto_simplex(v[1::2]), rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("n", [1, 3, LONG])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_without_a_projection_everything_is_nan(n: int, bad: float) -> None:
    v = torch.linspace(0.0, 1.0, n)
    v[n // 2] = bad
    assert bool(project_onto_simplex(v).isnan().all())
    assert bool(project_onto_simplex(torch.full((n,), -torch.inf)).isnan().all())


def test_a_bad_vector_does_not_spoil_its_batch() -> None:
    v = torch.randn(3, 4, dtype=torch.float64)
    v[1, 2] = torch.nan
    p = project_onto_simplex(v)
    assert bool(p[1].isnan().all())
    torch.testing.assert_close(p[::2], torch.stack([project_onto_simplex(v[0]), project_onto_simplex(v[2])]))


@pytest.mark.parametrize("shape", [(4, 7), (2, 3, 5), (2, LONG)])
def test_a_batch_is_a_loop(shape: tuple[int, ...]) -> None:
    v = torch.randn(shape, dtype=torch.float64)
    looped = torch.stack([project_onto_simplex(row) for row in v.reshape(-1, shape[-1])]).reshape(shape)
    torch.testing.assert_close(project_onto_simplex(v), looped, rtol=0.0, atol=4e-16)


def test_a_long_vector_can_stand_for_many() -> None:
    v = torch.randn(2, LONG, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(project_onto_simplex)(v), project_onto_simplex(v))


@pytest.mark.parametrize("n", [6, LONG])
def test_the_gradient_is_that_of_the_face(n: int) -> None:
    v = torch.randn(n, dtype=torch.float64, requires_grad=True)
    p = project_onto_simplex(v)
    weights = torch.linspace(0.0, 1.0, n, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((weights * p).sum(), v)
    face = p.detach() > 0.0
    expected = torch.where(face, weights - weights[face].mean(), 0.0)
    torch.testing.assert_close(gradient, expected, rtol=0.0, atol=1e-12)
