"""Inner maximisation: known maxima, honest errors, exactness in few calls."""

import math
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from idbpd.optim.inner import maximise as ascent
from idbpd.optim.inner.function import Maximum
from idbpd.optim.sets import Ball, Box, ChiSquareBall, ConvexSet, KLBall, Simplex, Space
from tests.optim.inner.functions import Counting, Function, box, maximise, vector

SQUARE = box(2, -2.0, 2.0)
CONCAVE: dict[str, tuple[Function, ConvexSet, Tensor, float]] = {
    "quadratic, inside a box": (lambda w: 1.0 - (0.25 - w[0]) ** 2, box(1), vector(0.9), 1.0),
    "quadratic, at the edge of a box": (lambda w: 1.0 - (3.0 - w[0]) ** 2, box(1), vector(-0.5), -3.0),
    "quadratic of one number": (lambda w: 1.0 - (0.25 - w) ** 2, Box(-1.0, 1.0), torch.tensor(0.9).double(), 1.0),
    "quadratic, all of R^2": (lambda w: w @ vector(2.0, 1.0) - 0.5 * w @ w, Space(2), vector(0.0, 0.0), 2.5),
    "coupled quadratic, all of R^2": (
        lambda w: w.sum() - w[0] ** 2 - w[0] * w[1] - w[1] ** 2,
        Space(2),
        vector(5.0, -3.0),
        1.0 / 3.0,
    ),
    "coupled quadratic, box": (
        lambda w: w @ vector(4.0, 1.0) - w[0] ** 2 - w[0] * w[1] - w[1] ** 2,
        box(2),
        vector(0.0, 0.0),
        3.0,
    ),
    "half a line": (lambda w: -((w[0] + 1.0) ** 2), Box(vector(0.0), torch.inf), vector(4.0), -1.0),
    "DRO with two samples": (
        lambda y: y @ vector(0.0, 4.0) - 4.0 * (y - 0.5).square().sum(),
        Simplex(2),
        vector(1.0, 0.0),
        2.5,
    ),
    "quadratic, simplex": (lambda y: -(y * vector(1.0, 2.0, 4.0)) @ y, Simplex(3), vector(1.0, 0.0, 0.0), -4.0 / 7.0),
    "quadratic, edge of a simplex": (
        lambda y: y @ vector(1.0, 2.0, -5.0) - y[0] ** 2 - y[1] ** 2,
        Simplex(3),
        vector(0.0, 0.0, 1.0),
        1.125,
    ),
    "quadratic, on a sphere": (
        lambda w: -(w - vector(3.0, 4.0)).square().sum(),
        Ball(vector(0, 0), 1.0),
        vector(0, 0),
        -16,
    ),
    "quadratic, inside a ball": (
        lambda w: -((w - 0.1) * vector(1.0, 9.0)) @ (w - 0.1),
        Ball(vector(0, 0), 1.0),
        vector(0, 1),
        0.0,
    ),
    "linear, simplex": (lambda y: y @ vector(3.0, 5.0, 4.0), Simplex(3), vector(1.0, 0.0, 0.0), 5.0),
    "linear, box": (lambda w: w @ vector(3.0, -5.0), box(2), vector(0.0, 0.0), 8.0),
    "linear in one of two": (lambda w: w[0] - w[1] ** 2, box(2), vector(0.0, 0.5), 1.0),
    "linear, sphere": (lambda w: w @ vector(3.0, 4.0), Ball(vector(1.0, 1.0), 2.0), vector(1.0, 1.0), 17.0),
    "constant": (lambda w: torch.tensor(2.0).double() + 0.0 * w.sum(), box(2), vector(0.5, 0.5), 2.0),
    "no function of the point": (lambda _: torch.tensor(2.0).double(), Simplex(3), vector(1.0, 0.0, 0.0), 2.0),
    "exponential": (lambda w: w[0] - w[0].exp(), box(1, -3.0, 3.0), vector(2.5), -1.0),
    "logarithm": (lambda y: y.log().sum(), Simplex(4), vector(0.7, 0.1, 0.1, 0.1), -4.0 * math.log(4.0)),
    "entropy": (lambda y: -(y * y.log()).sum(), Simplex(10), torch.linspace(0.01, 0.19, 10).double(), math.log(10.0)),
    "quartic": (lambda w: w[0] - w[0] ** 4 / 4.0, Space(1), vector(0.3), 0.75),
    "infinite slope at the start": (lambda w: (w.sqrt() - w).sum(), box(2, 0.0), vector(0.0, 0.9), 0.5),
    "logistic": (
        lambda w: -torch.nn.functional.softplus(w).sum() + 0.5 * w.sum(),
        Space(2),
        vector(3, -4),
        -2 * math.log(2),
    ),
}
MANY_PEAKS: dict[str, tuple[Function, ConvexSet, Tensor, float]] = {
    "a higher peak elsewhere": (
        lambda w: torch.sin(3.0 * w[0]) + 0.1 * w[0],
        box(1, -3, 3),
        vector(-1.5),
        1.2623549948121892,
    ),
    "three peaks on a line": (lambda w: w[0].cos() - 0.01 * (w[0] - 6.0) ** 2, Space(1), vector(0.3), 0.9992142),
    "a bowl's corner": (lambda w: w.square().sum() + 0.1 * w[0], box(2), vector(0.0, 0.0), 2.1),
    "a bowl's corner in five dimensions": (
        lambda w: w.square().sum() + 0.1 * w[0],
        box(5),
        torch.zeros(5).double(),
        5.1,
    ),
    "the bottom of a bowl": (lambda w: 3.0 * w[0] ** 2, box(1), vector(0.0), 3.0),
    "a bowl on the simplex": (lambda y: y @ (y * vector(1.0, 2.0, 3.0)), Simplex(3), vector(1.0, 0.0, 0.0), 3.0),
    "a bowl on a ball": (lambda w: w @ (w * vector(1.0, 2.0)), Ball(vector(0.0, 0.0), 2.0), vector(0.0, 0.0), 8.0),
    "six humps": (
        lambda w: -((4 - 2.1 * w[0] ** 2 + w[0] ** 4 / 3) * w[0] ** 2 + w[0] * w[1] + (4 * w[1] ** 2 - 4) * w[1] ** 2),
        SQUARE,
        vector(-1.2, 1.0),
        1.0316284534898774,
    ),
    "waves in three dimensions": (
        lambda w: -(w.square() - torch.cos(2.0 * math.pi * w)).sum(),
        box(3, -2.0, 3.0),
        vector(1.0, 1.0, 2.0),
        3.0,
    ),
}


def check(found: Maximum, over: ConvexSet, maximum: float, accuracy: float = 1e-12) -> None:
    size = 1.0 + abs(maximum)
    assert found.value.dtype == found.error.dtype == torch.float64
    assert bool(over.contains(found.point, 1e-12))
    assert float(found.value) == pytest.approx(maximum, abs=accuracy * size)
    assert 0.0 <= float(found.error) <= accuracy * 10.0 * size
    assert maximum - float(found.value) <= float(found.error) + 1e-14 * size


@pytest.mark.parametrize("name", CONCAVE)
def test_known_maxima(name: str) -> None:
    function, over, start, maximum = CONCAVE[name]
    check(maximise(function, over, start), over, maximum)


@pytest.mark.parametrize("name", MANY_PEAKS)
def test_the_highest_of_many_peaks(name: str) -> None:
    function, over, start, maximum = MANY_PEAKS[name]
    found = maximise(function, over, start)
    assert float(found.value) == pytest.approx(maximum, rel=1e-6)
    assert float(maximise(function, over, found.point).value) >= float(found.value) - 1e-12


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize(
    "name", ["coupled quadratic, box", "quadratic, simplex", "exponential", "quadratic, on a sphere"]
)
def test_the_accuracy_is_relative_to_the_size_of_the_values(name: str, scale: float) -> None:
    function, over, start, maximum = CONCAVE[name]
    found = maximise(lambda w: scale * function(w), over, start)
    assert float(found.value) == pytest.approx(scale * maximum, rel=1e-12)
    assert float(found.error) <= 1e-11 * scale * (1.0 + abs(maximum))


@pytest.mark.parametrize("name", [name for name in CONCAVE if "slope" not in name])
def test_single_precision(name: str) -> None:
    function, over, start, maximum = CONCAVE[name]
    found = maximise(lambda w: function(w.double()).float(), over, start.float())
    assert found.point.dtype == torch.float32
    assert float(found.value) == pytest.approx(maximum, abs=2e-6 * (1.0 + abs(maximum)))
    assert float(found.error) <= 1e-4 * (1.0 + abs(maximum))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 7), kind=st.sampled_from(["box", "simplex", "ball"]))
def test_no_feasible_point_is_better_than_value_plus_error(seed: int, n: int, kind: str) -> None:
    random = torch.Generator().manual_seed(seed)
    root, b = (
        torch.randn(n, n + 1, dtype=torch.float64, generator=random)[:, :n],
        torch.randn(n, generator=random).double(),
    )
    over: ConvexSet = {"box": box(n), "simplex": Simplex(n), "ball": Ball(0.2 * b, 0.7)}[kind]

    def function(w: Tensor) -> Tensor:
        return 3.0 * b @ w - (root @ w).square().sum() - (w + b).exp().sum()

    others = over.project(2.0 * torch.randn(200, n, dtype=torch.float64, generator=random))
    best = max(float(function(other)) for other in others)
    for steps in (1, ascent.NEWTON_STEPS):
        with mock.patch.object(ascent, "NEWTON_STEPS", steps):
            found = maximise(function, over, others[0])
        assert best <= float(found.value) + float(found.error) + 1e-12
        assert float(found.value) >= float(function(others[0])) - 1e-13
    assert float(found.error) <= 1e-10


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 12), kind=st.sampled_from(["box", "simplex", "ball"]))
def test_a_concave_quadratic_takes_one_step(seed: int, n: int, kind: str) -> None:
    random = torch.Generator().manual_seed(seed)
    root, b = torch.randn(n, n + 2, generator=random).double(), 3.0 * torch.randn(n, generator=random).double()
    over: ConvexSet = {"box": box(n), "simplex": Simplex(n), "ball": Ball(0.2 * b, 0.7)}[kind]
    curvature = root @ root.T
    point = over.centre(b)
    for shift in (0.0, 1.0, 2.0):
        function = Counting(lambda w, shift=shift: (b + shift) @ w - 0.5 * w @ curvature @ w)  # type: ignore[misc]
        found = maximise(function, over, point)
        # The Hessian, a gradient, and the value at a distant point that verifies the model. Over a ball the guess that
        # the Hessian is -c I comes first.
        assert function.calls <= (3 if kind != "ball" else 10)
        assert float(found.error) <= 1e-12 * float(curvature.abs().max())
        point = found.point


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("strength", [1e-3, 0.1, 10.0])
def test_robust_losses_of_many_samples_take_one_projection(strength: float, dtype: torch.dtype) -> None:
    n = 20_000
    losses = torch.randn(n, dtype=dtype).square()

    @Counting
    def phi(y: Tensor) -> Tensor:
        return (y * losses).sum() - 0.5 * strength * n * (y - 1.0 / n).square().sum()

    with profile(activities=[ProfilerActivity.CPU]) as trace:
        found = maximise(phi, Simplex(n), Simplex(n).centre(losses))
    assert phi.calls == 3  # gradient, one Hessian-vector product, and the gradient that verifies
    assert not [event for event in trace.events() or [] if event.name == "aten::_local_scalar_dense"]
    expected = Simplex(n).project(1.0 / n + losses / (strength * n))
    torch.testing.assert_close(found.point, expected, rtol=1e-4, atol=4.0 * torch.finfo(dtype).eps)
    assert float(found.error) <= 20.0 * torch.finfo(dtype).eps * float(losses.max())


@pytest.mark.parametrize("over", [ChiSquareBall(5000, 0.5), KLBall(5000, 0.5), ChiSquareBall(4, 0.1), KLBall(4, 0.1)])
def test_the_worst_distribution_in_a_divergence_ball(over: ChiSquareBall | KLBall) -> None:
    losses = torch.randn(over.n, dtype=torch.float64)
    function = Counting(lambda y: y @ losses)
    found = maximise(function, over, over.centre(losses))
    assert function.calls == (3 if over.n > 50 else 4)
    torch.testing.assert_close(found.point, over.support(losses))
    assert float(found.error) <= 1e-14
    curved = maximise(lambda y: y @ losses - (y.square() * losses.abs()).sum(), over, found.point)
    assert float(curved.error) <= 1e-11


def test_many_variables_without_a_closed_form() -> None:
    n = 300
    root, b = torch.randn(n, n, dtype=torch.float64) / n**0.5, torch.randn(n, dtype=torch.float64)
    sets: list[ConvexSet] = [box(n), Simplex(n), Ball(torch.zeros(n).double(), 2.0), Space(n)]
    for over in sets:
        found = maximise(lambda w: b @ w - (root @ w).square().sum() - 0.05 * w.square().sum(), over, over.centre(b))
        assert float(found.error) <= 1e-10 * (1.0 + abs(float(found.value)))
    exact = 0.25 * b @ torch.linalg.solve(root.T @ root + 0.05 * torch.eye(n, dtype=torch.float64), b)
    assert float(found.value) == pytest.approx(float(exact), rel=1e-11)


def test_the_maximiser_of_another_function_is_a_start_like_any_other() -> None:
    functions: list[tuple[Function, float]] = [
        (lambda w: 1.0 - (w[0] - 0.5) ** 2, 1.0),
        (lambda w: 1.0 - 9.0 * (w[0] - 0.5) ** 2, 1.0),  # another curvature
        (lambda w: w[0] ** 2 - 0.5 * w[0], 1.5),  # upward
        (lambda w: 2.0 * w[0], 2.0),
        (lambda w: torch.sin(8.0 * w[0]) + 0.2 * w[0], 1.19666),  # peaks
        (lambda w: 1.0 - (w[0] - 0.5) ** 2, 1.0),
    ]
    for order in (functions, functions[::-1]):
        w = vector(0.0)
        for function, maximum in order:
            found = maximise(function, box(1), w)
            assert float(found.value) == pytest.approx(maximum, abs=1e-4)
            w = found.point


def test_a_minimum_is_not_mistaken_for_a_maximum_of_the_same_gradient() -> None:
    w = maximise(lambda w: -(w[0] ** 2), box(1), vector(0.5)).point
    assert float(maximise(lambda w: w[0] ** 2, box(1), w).value) == 1.0


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.sampled_from([1, 2, 3, 5, 60]))
def test_never_worse_than_the_start(seed: int, n: int) -> None:
    random = torch.Generator().manual_seed(seed)
    a, b, start = torch.randn(3, n, dtype=torch.float64, generator=random)

    def function(w: Tensor) -> Tensor:
        waves: Tensor = torch.sin(5.0 * a * w) * b - (w - start).abs()
        return waves.sum()

    w = box(n).project(start)
    found = maximise(function, box(n), w)
    assert float(found.value) >= float(function(w)) - 1e-13
    assert float(maximise(function, box(n), found.point).value) >= float(found.value) - 1e-13


def test_a_start_outside_is_projected() -> None:
    check(maximise(lambda w: -w.square().sum(), box(2), vector(7.0, -9.0)), box(2), 0.0)


@pytest.mark.parametrize(
    "over",
    [box(3), Simplex(3), Space(3), Ball(torch.zeros(3).double(), 0.3), Ball(torch.zeros(3).double(), 9.0)],
)
@pytest.mark.parametrize("seed", range(5))
def test_the_maximiser_itself_is_right_and_not_only_its_value(over: ConvexSet, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    root = torch.randn(3, 3, dtype=torch.float64, generator=random)
    b, c = torch.randn(2, 3, dtype=torch.float64, generator=random).unbind()

    def function(w: Tensor) -> Tensor:
        curved: Tensor = (root @ w).square().sum() + (w + c).exp().sum() + 0.1 * w.square().sum()
        return 2.0 * (b * w).sum() - curved

    w = over.centre(b)
    for _ in range(2):  # once from afar, once from the answer
        w = maximise(function, over, w).point.requires_grad_()
        (gradient,) = torch.autograd.grad(function(w), w)
        w = w.detach()
        # An error of this size in w is one of the same size in the gradient of the outer problem.
        assert float((over.project(w + gradient) - w).abs().max()) <= 1e-12


@pytest.mark.parametrize("kind", ["ball", "chi-square ball", "space", "box", "simplex"])
def test_the_maximiser_is_right_in_many_variables_too(kind: str) -> None:
    n = 600
    weights, b = torch.linspace(1.0, 5.0, n, dtype=torch.float64), torch.randn(n, dtype=torch.float64)
    sets: dict[str, ConvexSet] = {
        "ball": Ball(torch.zeros(n).double(), 3.0),
        "chi-square ball": ChiSquareBall(n, 0.5),
        "space": Space(n),
        "box": box(n),
        "simplex": Simplex(n),
    }
    over = sets[kind]
    w = maximise(lambda w: b @ w - 0.5 * (weights * w) @ w - 0.1 * w.exp().sum(), over, over.centre(b)).point
    gradient = b - weights * w - 0.1 * w.exp()
    assert float((over.project(w + 0.2 * gradient) - w).abs().max()) <= 1e-9
