"""Inner maximisation of functions that misbehave, and of what is no problem at all."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from idbpd.optim.sets import Ball, Space
from tests.optim.inner.functions import Counting, Function, box, maximise, vector


def test_a_function_that_takes_no_batch() -> None:
    def function(w: Tensor) -> Tensor:
        return torch.sin(3.0 * w[0]) + 0.1 * float(w[0].detach()) + 0.1 * (w[0] - w[0].detach())

    found = maximise(function, box(1, -3.0, 3.0), vector(-1.5))
    assert float(found.value) == pytest.approx(1.2623549948121892, abs=1e-9)


class _OnceDifferentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, w: Tensor) -> Tensor:
        ctx.save_for_backward(w)
        return -(w - 0.3).square().sum()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any,
        gradient: Tensor,
    ) -> Tensor:
        (w,) = ctx.saved_tensors
        result: Tensor = -2.0 * (w - 0.3) * gradient
        return result


@pytest.mark.parametrize("n", [2, 100])
def test_a_function_without_second_derivatives(n: int) -> None:
    function: Function = _OnceDifferentiable.apply
    found = maximise(function, box(n), torch.zeros(n, dtype=torch.float64))
    assert float(found.value) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("n", [2, 100])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_come_back_as_they_are(n: int, bad: float) -> None:
    start = torch.zeros(n, dtype=torch.float64)
    for over in (box(n), Space(n), Ball(start, 1.0)):
        function = Counting(lambda w: w.sum() + bad)
        found = maximise(function, over, start)
        assert float(found.value) == pytest.approx(bad, nan_ok=True)
        assert float(found.error) == math.inf
        assert function.calls <= 6


@pytest.mark.parametrize("n", [1, 2, 100])
def test_a_hole_in_the_domain_is_walked_around(n: int) -> None:
    start = torch.full((n,), 0.9, dtype=torch.float64)
    found = maximise(lambda w: (w + 0.1).log().sum() - 2.0 * w.sum(), box(n), start)
    assert float(found.value) == pytest.approx(n * (math.log(0.5) - 0.8), abs=1e-9)


@pytest.mark.parametrize("n", [1, 5, 100])
def test_an_infinite_slope_at_the_start_is_left(n: int) -> None:
    found = maximise(lambda w: (w.sqrt() - w).sum(), box(n, 0.0), torch.zeros(n, dtype=torch.float64))
    assert float(found.value) == pytest.approx(0.25 * n, abs=1e-9)


@pytest.mark.parametrize("n", [2, 100])
def test_a_gradient_that_is_not_finite_certifies_nothing(n: int) -> None:
    found = maximise(lambda w: 1.0 + (w * math.nan).sum().nan_to_num(0.0) * 0.0, box(n), torch.zeros(n).double())
    assert float(found.value) == 1.0
    assert float(found.error) == math.inf


@pytest.mark.parametrize("n", [2, 100])
def test_without_a_maximum_the_error_is_infinite(n: int) -> None:
    for function in (lambda w: w.sum(), lambda w: w.square().sum() + w.sum()):
        counting = Counting(function)
        found = maximise(counting, Space(n), torch.zeros(n, dtype=torch.float64))
        assert float(found.error) == math.inf
        assert counting.calls < 2_000


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"scalar tensor, not the shape \(2,\)"):
        maximise(lambda w: w, box(2), vector(0.0, 0.0))
    with pytest.raises(ValueError, match=r"points of shape \(2,\).*its shape is \(3,\)"):
        maximise(lambda w: w.sum(), box(2), vector(0.0, 0.0, 0.0))


class _Slope(torch.autograd.Function):
    """The gradient of a square, whose own backward pass looks at a number: it takes no batch."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, w: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(w, gradient)
        return 2.0 * w * gradient

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor, Tensor]:
        w, gradient = ctx.saved_tensors
        scale = 1.0 if float(direction.abs().sum()) > 0.0 else 0.0
        return scale * 2.0 * gradient * direction, (2.0 * w * direction).sum()


class _Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, w: Tensor) -> Tensor:
        ctx.save_for_backward(w)
        return w.square().sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        slope: Tensor = _Slope.apply(*ctx.saved_tensors, gradient)  # type: ignore[no-untyped-call]
        return slope


def test_a_backward_pass_that_takes_no_batch() -> None:
    square: Function = _Square.apply
    found = maximise(lambda w: w.sum() - square(w), box(5), torch.zeros(5, dtype=torch.float64))
    assert found.point.tolist() == pytest.approx([0.5] * 5)
