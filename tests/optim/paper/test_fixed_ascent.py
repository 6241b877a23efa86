"""A stated number of ascent steps: by hand, exact where one step is, and without waiting for a device."""

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.profiler import ProfilerActivity, profile

from idbpd.optim.paper.fixed_ascent import ascend
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex, Space

A = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 4.0]], dtype=torch.float64)
B = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
SETS: list[ConvexSet] = [Simplex(3), Box(-0.5, torch.ones(3)), Ball(torch.zeros(3), 0.5), Space(3)]


def quadratic(w: Tensor) -> Tensor:
    return B @ w - 0.5 * w @ A @ w


@pytest.mark.parametrize("over", SETS)
@pytest.mark.parametrize("accelerated", [False, True])
def test_the_steps_by_hand(over: ConvexSet, accelerated: bool) -> None:
    y = z = over.project(torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64))
    for k in range(5):
        ahead = over.project(z + 0.1 * (B - A @ z))
        z = ahead + k / (k + 3) * (ahead - y) if accelerated else ahead
        y = ahead
        start = torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)
        found = ascend(quadratic, over, start, k + 1, step_size=0.1, accelerated=accelerated)
        torch.testing.assert_close(found, y, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("over", SETS)
@pytest.mark.parametrize("accelerated", [False, True])
def test_many_steps_arrive_without_a_step_size(over: ConvexSet, accelerated: bool) -> None:
    found = ascend(quadratic, over, over.centre(B), 400, accelerated=accelerated)
    residual = over.project(found + (B - A @ found)) - found
    assert float(residual.norm()) <= 1e-6


@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_one_step_is_exact_on_robust_losses_from_anywhere(steps: int, accelerated: bool) -> None:
    n, strength = 500, 0.1
    losses = torch.randn(n, dtype=torch.float64).square()
    start = Simplex(n).project(torch.randn(n, dtype=torch.float64))

    def phi(y: Tensor) -> Tensor:
        return y @ losses - 0.5 * strength * n * (y - 1.0 / n).square().sum()

    found = ascend(phi, Simplex(n), start, steps, accelerated=accelerated)
    torch.testing.assert_close(found, Simplex(n).project(1.0 / n + losses / (strength * n)), rtol=0.0, atol=1e-14)


def test_each_step_takes_one_gradient() -> None:
    calls = 0

    def counted(w: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return quadratic(w)

    ascend(counted, Simplex(3), torch.ones(3, dtype=torch.float64), 9, step_size=0.1)
    assert calls == 9


@pytest.mark.parametrize("over", SETS)
@pytest.mark.parametrize("accelerated", [False, True])
def test_steps_that_would_change_nothing_are_left_out(over: ConvexSet, accelerated: bool) -> None:
    calls = 0

    def counted(w: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return B @ w - 0.5 * w @ w

    found = ascend(counted, over, over.centre(B), 50, step_size=1.0, accelerated=accelerated)
    # The maximiser is the projection of B, and one step of this length reaches it from anywhere.
    torch.testing.assert_close(found, over.project(B), rtol=0.0, atol=1e-15)
    assert calls < 50


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_every_precision(dtype: torch.dtype) -> None:
    side = torch.ones(2, dtype=dtype)
    found = ascend(lambda w: w.sum() - w.square().sum(), Box(-side, side), torch.zeros(2, dtype=dtype), 3)
    assert found.tolist() == [0.5, 0.5]


def test_no_step_is_a_projection() -> None:
    assert ascend(quadratic, Simplex(3), torch.ones(3, dtype=torch.float64), 0).tolist() == pytest.approx([1 / 3] * 3)


def test_linear_and_constant_functions_need_no_curvature() -> None:
    found = ascend(lambda w: w @ B, Simplex(3), torch.full((3,), 1 / 3, dtype=torch.float64), 5)
    assert found.tolist() == [0.0, 0.0, 1.0]
    still = ascend(lambda w: 0.0 * w.sum(), Simplex(3), torch.full((3,), 1 / 3, dtype=torch.float64), 5)
    assert still.tolist() == pytest.approx([1 / 3] * 3)


def test_curvature_is_found_where_the_gradient_does_not_show_it() -> None:
    def valley(w: Tensor) -> Tensor:
        return w[0] - 50.0 * (w[1] - w[0] ** 2) ** 2

    # At the start the Hessian is diag(0, -100) and the gradient (1, 0).
    start, side = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    found = ascend(valley, Box(-side, side), start, 1)
    assert found.tolist() == pytest.approx([0.01, 0.0])


def test_at_a_stationary_point_it_stays() -> None:
    top = torch.linalg.solve(A, B)
    torch.testing.assert_close(ascend(quadratic, Space(3), top, 3), top)


@pytest.mark.parametrize("step_size", [None, 0.1])
def test_the_host_never_waits(step_size: float | None) -> None:
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        ascend(quadratic, Simplex(3), B, 3, step_size=step_size, accelerated=True)
    names = [event.name for event in trace.events() or []]
    assert "aten::sort" in names
    assert "aten::_local_scalar_dense" not in names


@pytest.mark.parametrize("over", [Simplex(4), Box(-1.0, torch.ones(4)), Ball(torch.zeros(4), 1.0), Space(4)])
def test_it_works_where_only_shapes_are_known(over: ConvexSet) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        losses = torch.empty(4, device="meta")
        found = ascend(lambda y: (y * losses).sum() - y.square().sum(), over, torch.empty(4, device="meta"), 3)
    assert found.device.type == "meta"


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="steps must not be negative, but is -1"):
        ascend(quadratic, Simplex(3), B, -1)
    with pytest.raises(ValueError, match=r"step_size must be positive, but is 0\.0"):
        ascend(quadratic, Simplex(3), B, 1, step_size=0.0)
