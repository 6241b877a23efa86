"""The limited-memory metric against the dense BFGS formula, and what a step may teach it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from idbpd.optim.oracle import Gradients
from idbpd.optim.quasi_newton.lbfgs import Step, learn_pair, learn_scale, without_pairs


def dense(scale: float, pairs: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The inverse BFGS update, written out."""
    d = pairs[0][0].numel()
    eye = torch.eye(d, dtype=torch.float64)
    H = scale * eye
    for s, y in pairs:
        rho = 1 / (s @ y)
        V = eye - rho * torch.outer(s, y)
        H = V @ H @ V.T + rho * torch.outer(s, s)
    return H


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e5]))
def test_apply_is_the_dense_formula(d: int, count: int, seed: int, size: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(d, d, generator=generator, dtype=torch.float64)
    hessian = A @ A.T + 0.1 * torch.eye(d, dtype=torch.float64)
    pairs = []
    metric = without_pairs(torch.zeros(d, dtype=torch.float64))
    memory = 5
    for _ in range(count):
        s = size * torch.randn(d, generator=generator, dtype=torch.float64)
        y = hessian @ s
        pairs.append((s, y))
        metric = metric.updated(s, y, s @ y, torch.tensor(0.7).double(), torch.tensor(True), memory)
    V = torch.randn(3, d, generator=generator, dtype=torch.float64)

    expected = V @ dense(0.7, pairs[-memory:])

    torch.testing.assert_close(metric.apply(V), expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))
    assert bool(((metric.apply(V) * V).sum(1) > 0).all())


def gradients(f: Tensor, *g: Tensor) -> Gradients:
    return Gradients(f, torch.stack(g) if g else f.new_zeros((0, f.numel())))


def test_pair_is_learnt_from_the_lagrangian() -> None:
    # f = 1/2 x'diag(1, 4) x, g = 1/2 x'diag(2, 2) x, multiplier 0.5: the Lagrangian's Hessian is diag(2, 5).
    f, g = torch.tensor([1.0, 4.0]).double(), torch.tensor([2.0, 2.0]).double()
    x, weights = torch.tensor([1.0, -1.0]).double(), torch.tensor([1.0, 0.5]).double()
    s = -(f + 0.5 * g) * x  # a step of length 1 in the identity metric

    metric = learn_pair(
        without_pairs(x), Step(s, weights, 1.0, gradients(f * x, g * x), gradients(f * (x + s), g * (x + s))), 5
    ).metric

    hessian = torch.tensor([2.0, 5.0]).double()
    torch.testing.assert_close(metric.apply((hessian * s).unsqueeze(0))[0], s)


@pytest.mark.parametrize("curvature", [-3.0, 0.0])
def test_negative_or_no_curvature_lengthens_the_next_step(curvature: float) -> None:
    x = torch.tensor([1.0, 1.0], dtype=torch.float64)
    v = torch.tensor([1.0, 0.0], dtype=torch.float64)
    s = -v
    step = Step(s, torch.ones(1, dtype=torch.float64), 1.0, gradients(v), gradients(v + curvature * s))

    metric = learn_pair(without_pairs(x), step, 5).metric

    along = float(metric.apply(v.unsqueeze(0))[0] @ v)
    assert along == pytest.approx(10)


def test_rounding_teaches_nothing() -> None:
    v = torch.tensor([1.0, 1.0])
    tiny = 1e-9
    step = Step(-tiny * v, torch.ones(1, dtype=torch.float64), tiny, gradients(v), gradients(v - 5e-8))

    learnt = learn_pair(without_pairs(v, 0.7), step, 5)

    assert not bool(learnt.kept)
    torch.testing.assert_close(learnt.metric.apply(v.unsqueeze(0)), 0.7 * v.unsqueeze(0))  # its pair is empty


def test_step_size_follows_the_local_curvature() -> None:
    v = torch.tensor([2.0, 0.0], dtype=torch.float64)

    def scale(curvature: float) -> float:
        s = -0.1 * v
        step = Step(s, torch.ones(1, dtype=torch.float64), 1.0, gradients(v), gradients(v + curvature * s))
        return float(learn_scale(without_pairs(v, 0.1), step).metric.scale)

    assert scale(100.0) == pytest.approx(1 / 200)
    assert scale(0.1) == pytest.approx(2**0.5 * 0.1)
    assert scale(0.0) == pytest.approx(2**0.5 * 0.1)
