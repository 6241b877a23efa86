"""Functions as expressions: the values and derivatives of autograd, and no expression where there is none."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from idbpd.optim.enclosure.expression import Expression
from idbpd.optim.enclosure.scalar_tape import expression_of
from idbpd.optim.enclosure.tape import record

Function = Callable[[Tensor], Tensor]
MATRIX = torch.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 4.0]], dtype=torch.float64)
POINT = torch.tensor([0.7, -0.3, 1.2], dtype=torch.float64)
SMOOTH: dict[str, Function] = {
    "polynomial": lambda v: v[0] ** 3 - 2 * v[0] * v[1] ** 2 + v[2] ** 4 / 5,
    "quadratic form": lambda v: 0.5 * v @ MATRIX @ v - v.sum(),
    "waves": lambda v: torch.sin(3 * v[0]) * torch.cos(v[1] - v[2]) + torch.tan(v[1]),
    "exponentials": lambda v: torch.exp(v[0] * v[1]) + torch.expm1(v[2]) + torch.log(1.5 + v[0]) + torch.log1p(v[2]),
    "roots": lambda v: torch.sqrt(2 + v[0]) + (2 + v[1]) ** 0.5 + 1 / (3 + v[2]) + (4 + v.sum()).rsqrt().sqrt(),
    "sigmoids": lambda v: (torch.tanh(v) + torch.sigmoid(2 * v) + torch.atan(v) + torch.erf(v)).mean(),
    "hyperbolic": lambda v: torch.sinh(v[0]) + torch.cosh(v[1]) * v[2],
    "reductions": lambda v: (MATRIX @ v).square().sum() + (v * v).mean() - torch.dot(v, v) + v.reshape(1, 3).sum(1)[0],
    "stacked": lambda v: torch.stack([v[0] * v[1], v[2], v[0]]).square().sum() + torch.cat([v, v])[4] * 3 - (1 - v[0]),
}
KINKED: dict[str, Function] = {
    "modulus": lambda v: v.abs().sum(),
    "hinge": lambda v: torch.relu(1 - v).square().sum(),
    "largest": lambda v: torch.maximum(v[0] * v[1], v[2] ** 2) + v.amax() - v.amin(),
}


def expressed(function: Function) -> tuple[Expression, int]:
    tape = record(function, POINT)
    assert tape is not None
    found = expression_of(tape)
    assert found is not None
    return found


@pytest.mark.parametrize("name", [*SMOOTH, *KINKED])
def test_value_gradient_and_hessian_are_those_of_autograd(name: str) -> None:
    function = {**SMOOTH, **KINKED}[name]
    expression, value = expressed(function)
    gradient = [expression.derivative(value, i) for i in range(3)]
    hessian = [[expression.derivative(slope, i) for i in range(3)] for slope in gradient]
    split = expression.split([value, *gradient, *(node for row in hessian for node in row)], 1)
    at = 1.1 * POINT
    v = split.begin(at[:1].tolist())
    split.go_on(v, at[1:].tolist())

    leaf = at.clone().requires_grad_()
    slope = torch.autograd.grad(function(leaf), leaf)[0]
    rows = torch.autograd.functional.hessian(function, at)  # type: ignore[no-untyped-call]
    assert isinstance(rows, Tensor)
    assert v[value] == pytest.approx(float(function(at)), rel=1e-13)
    torch.testing.assert_close(
        torch.tensor([v[node] for node in gradient], dtype=torch.float64), slope, rtol=1e-12, atol=1e-12
    )
    found = torch.tensor([[v[node] for node in row] for row in hessian], dtype=torch.float64)
    torch.testing.assert_close(found, rows, rtol=1e-10, atol=1e-10)
    assert expression.is_smooth(value) is (name in SMOOTH)


@pytest.mark.parametrize("name", ["polynomial", "waves", "largest", "hinge"])
def test_many_points_at_once(name: str) -> None:
    function = {**SMOOTH, **KINKED}[name]
    expression, value = expressed(function)
    split = expression.split([value], 1)
    points = POINT + 0.1 * torch.arange(12, dtype=torch.float64).reshape(4, 3)
    points[:, 0] = POINT[0]
    v = split.begin([float(POINT[0])])
    split.go_on_with(v, points[:, 1:].unbind(1))
    torch.testing.assert_close(v[value], torch.stack([function(point) for point in points]))


def test_degrees() -> None:
    for function, degree in (
        (lambda v: v[0] * v[1] + v[2], 2.0),
        (lambda v: (v @ MATRIX @ v) * v[0], 3.0),
        (lambda v: torch.exp(v[0]) * v[1], math.inf),
        (lambda v: v.abs().sum(), math.inf),
    ):
        expression, value = expressed(function)
        assert expression.degree(value, [0, 1, 2]) == degree
    expression, value = expressed(lambda v: torch.exp(v[0]) * v[1] - v[2])
    assert expression.degree(value, [1, 2]) == 1.0  # in these it is linear


def test_what_has_no_expression() -> None:
    large = torch.ones(40, 40, dtype=torch.float64)
    for function in (lambda v: torch.special.bessel_j0(v).sum(), lambda v: (large * v[0]).sum()):
        tape = record(function, POINT)
        assert tape is None or expression_of(tape) is None
