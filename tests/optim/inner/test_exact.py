"""The maximum of a quadratic without a look at its numbers: right where it says so, silent where it cannot know."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.profiler import ProfilerActivity, profile

from idbpd.optim.inner.exact import exact_maximum, is_strict_quadratic
from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.qp.on_device import bounds_of, maximise_within
from idbpd.optim.qp.over_sets import maximise_quadratic
from idbpd.optim.sets import Ball, Box, ConvexSet, Simplex, Space
from tests.optim.accelerator import Accelerator, Remote
from tests.optim.inner.functions import maximise

SIDES = torch.ones(4, dtype=torch.float64)
SETS: list[ConvexSet] = [Simplex(4), Box(-SIDES, 0.2 * SIDES), Box(-SIDES, torch.inf), Space(4)]


def definite(n: int, random: torch.Generator) -> Tensor:
    root = torch.randn(n, n, dtype=torch.float64, generator=random)
    return root @ root.T + 0.1 * torch.eye(n, dtype=torch.float64)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 1e6]))
@pytest.mark.parametrize("over", SETS, ids=str)
def test_primal_dual_active_sets_agree_with_the_method_that_always_ends(
    over: ConvexSet, seed: int, scale: float
) -> None:
    random = torch.Generator().manual_seed(seed)
    A = scale * definite(4, random)
    g = scale * 3.0 * torch.randn(4, dtype=torch.float64, generator=random)
    y = over.project(torch.randn(4, dtype=torch.float64, generator=random))
    bounds = bounds_of(over, y)
    assert bounds is not None

    found = over.project(maximise_within(bounds, g, A, y))
    gain = g @ (found - y) - 0.5 * (found - y) @ A @ (found - y)
    expected = maximise_quadratic(g, A, over, y) - y
    most = g @ expected - 0.5 * expected @ A @ expected

    # Going round in circles is allowed (and seen by its gap); a point above the maximum is not.
    assert float(gain) <= float(most) + 1e-9 * scale
    error = exact_maximum(InnerFunction(lambda w: g @ (w - y) - 0.5 * (w - y) @ A @ (w - y)), over, y).error
    assert math.isinf(float(error)) or float(most - gain) <= 1e-10 * scale


def test_nearly_every_program_is_solved() -> None:
    solved = 0
    for seed in range(100):
        random = torch.Generator().manual_seed(seed)
        n = 2 + seed % 20
        A, b = definite(n, random), 3.0 * torch.randn(n, dtype=torch.float64, generator=random)
        over = Simplex(n) if seed % 2 else Box(-torch.ones(n, dtype=torch.float64), 1.0)
        found = exact_maximum(InnerFunction(lambda w, A=A, b=b: b @ w - 0.5 * w @ A @ w), over, over.centre(b))  # type: ignore[misc]
        solved += math.isfinite(float(found.error))
        if math.isfinite(float(found.error)):
            y = over.centre(b)
            expected = maximise_quadratic(b - A @ y, A, over, y)
            torch.testing.assert_close(found.point, expected, rtol=0, atol=1e-9)
    assert solved >= 98


NOT_QUADRATIC: dict[str, tuple[Callable[[Tensor], Tensor], ConvexSet, Tensor]] = {
    # Its local maximum has no gap: only the look at a point far away tells.
    "waves": (lambda w: torch.sin(3.0 * w[0]) + 0.1 * w[0], Box(-3.0 * SIDES[:1], 3.0), torch.tensor([-1.5]).double()),
    "a bowl": (lambda w: w.square().sum() + 0.1 * w[0], Box(-SIDES, 1.0), torch.zeros(4).double()),
    "a saddle": (lambda w: w[0] ** 2 - w[1] ** 2, Box(-SIDES[:2], 1.0), torch.zeros(2).double()),
    "no end": (lambda w: w.sum(), Space(3), torch.zeros(3).double()),
    "a kink": (lambda w: -(w - 0.3).abs().sum(), Box(-SIDES[:2], 1.0), torch.zeros(2).double()),
    "no number": (lambda w: w.log().sum(), Box(-SIDES[:2], 1.0), torch.zeros(2).double()),
    "many waves": (lambda w: torch.sin(3.0 * w).sum(), Ball(torch.zeros(3).double(), 3.0), torch.ones(3).double()),
}


@pytest.mark.parametrize("name", NOT_QUADRATIC)
def test_what_is_not_shown_has_an_infinite_error(name: str) -> None:
    function, over, start = NOT_QUADRATIC[name]
    assert float(exact_maximum(InnerFunction(function), over, start).error) == math.inf


def test_a_flat_direction_does_not_blur_the_others() -> None:
    found = exact_maximum(InnerFunction(lambda w: w[0] - w[1] ** 2 + 0.2 * w[1]), Box(-SIDES[:2], 1.0), SIDES[:2])
    assert found.point.tolist() == pytest.approx([1.0, 0.1], abs=1e-13)


@pytest.mark.parametrize("curvature", [1e5, 1e6])
def test_a_faint_upward_curvature_is_seen_in_single_precision(curvature: float) -> None:
    # From a point that is stationary in that direction, as the centre of a box is.
    box, start = Box(-torch.ones(2), 1.0), torch.zeros(2)
    found = exact_maximum(InnerFunction(lambda w: -0.5 * curvature * w[0] ** 2 + 0.5 * w[1] ** 2), box, start)
    assert float(found.error) == math.inf
    found = maximise(lambda w: -0.5 * curvature * w[0] ** 2 + 0.5 * w[1] ** 2, box, start)
    assert float(found.value) == 0.5


def test_a_faint_downward_curvature_is_not_blurred_in_single_precision() -> None:
    start = torch.tensor([1000.0, 0.0])
    found = maximise(lambda w: -0.5e6 * (w[0] - 1000) ** 2 - 0.5 * w[1] ** 2 + w[1], Space(2), start)
    assert found.point.tolist() == [1000.0, 1.0]


def test_a_linear_function_has_no_maximum_without_bounds_however_flat_it_is() -> None:
    start = torch.tensor([0.0, 1e6])
    found = exact_maximum(InnerFunction(lambda w: -(w[0] ** 2) + 5e-3 * w[1]), Space(2), start)
    assert float(found.error) == math.inf


def test_the_maximiser_of_a_linear_function_on_a_sphere_is_exact() -> None:
    direction = torch.tensor([3.0, 4.0], dtype=torch.float64)
    start = torch.tensor([0.6 + 1e-8, 0.8 - 0.75e-8], dtype=torch.float64)  # its value is right to 1e-16
    found = exact_maximum(InnerFunction(lambda w: w @ direction), Ball(torch.zeros(2).double(), 1.0), start)
    assert found.point.tolist() == pytest.approx([0.6, 0.8], abs=1e-15)


def test_only_a_strictly_concave_quadratic_surely_has_one_maximiser() -> None:
    box, point = Box(-SIDES, 1.0), torch.zeros(4, dtype=torch.float64)
    assert bool(is_strict_quadratic(InnerFunction(lambda w: -w.square().sum() + w[0]), box, point))
    assert not bool(is_strict_quadratic(InnerFunction(lambda w: -w[0].square() + w[1]), box, point))
    assert not bool(is_strict_quadratic(InnerFunction(lambda w: -w.square().sum() - w[0] ** 4), box, point))
    assert not bool(is_strict_quadratic(InnerFunction(lambda w: w[0]), box, point))
    many = torch.full((60,), 1 / 60, dtype=torch.float64)
    assert bool(is_strict_quadratic(InnerFunction(lambda w: -1e-5 * w.square().sum()), Simplex(60), many))
    assert not bool(is_strict_quadratic(InnerFunction(lambda w: w.sum()), Simplex(60), many))


def test_equal_maximisers_do_not_take_turns() -> None:
    for start in torch.eye(3, dtype=torch.float64):
        found = exact_maximum(InnerFunction(lambda y: y.sum() * 0.7), Simplex(3), start)
        assert torch.equal(found.point, start)


@pytest.mark.parametrize("n", [4, 60])
@pytest.mark.parametrize("over", [Simplex, Space, lambda n: Box(-torch.ones(n), 1.0)])
def test_nothing_waits(over: Callable[[int], ConvexSet], n: int) -> None:
    losses, where = torch.linspace(0.0, 1.0, n), over(n)
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        exact_maximum(InnerFunction(lambda w: w @ losses - w.square().sum()), where, where.centre(losses))
    names = {event.name for event in trace.events() or []}
    assert "aten::sum" in names
    assert "aten::_local_scalar_dense" not in names

    with Accelerator() as accelerator:
        there = Remote(losses)
        start = where.centre(there)
        found = exact_maximum(InnerFunction(lambda w: (w * there).sum() - w.square().sum()), where, start)
        assert accelerator.crossings == 0
        assert math.isfinite(float(found.error))


@pytest.mark.parametrize("over", [Simplex(4), Space(4), Ball(torch.zeros(4), 1.0), Box(-1.0, torch.ones(4))])
def test_it_works_where_only_shapes_are_known(over: ConvexSet) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        losses = torch.empty(4, device="meta")
        function = InnerFunction(lambda w: (w * losses).sum() - w.square().sum())
        found = exact_maximum(function, over, torch.empty(4, device="meta"))
    assert found.point.device.type == found.error.device.type == "meta"
