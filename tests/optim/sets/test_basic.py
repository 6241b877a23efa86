"""Simplex, box, ball and space: projections, linear maxima, what they refuse, and that they never wait for a device."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.profiler import ProfilerActivity, profile

from idbpd.optim.sets import Ball, Box, ChiSquareBall, ConvexSet, KLBall, Simplex, Space

SETTINGS = settings(max_examples=30, deadline=None)
SETS: dict[str, ConvexSet] = {
    "simplex": Simplex(4),
    "box": Box(torch.tensor([-1.0, 0.0, 2.0, -3.0]), torch.tensor([1.0, 0.0, 5.0, -2.5])),
    "half box": Box(torch.tensor([-torch.inf, 0.0, -torch.inf, -1.0]), torch.tensor([1.0, torch.inf, torch.inf, 1.0])),
    "ball": Ball(torch.tensor([1.0, -2.0, 0.5, 0.0]), 1.5),
    "space": Space(4),
    "chi-square ball": ChiSquareBall(4, 0.3),
    "KL ball": KLBall(4, 0.3),
}
BOUNDED = [name for name, over in SETS.items() if over.is_bounded]
WITHOUT_WAITING = ["simplex", "box", "half box", "ball", "space"]
points = st.builds(
    lambda v, scale: scale * torch.tensor(v, dtype=torch.float64),
    st.lists(st.floats(-3.0, 3.0, allow_subnormal=False), min_size=4, max_size=4),
    st.sampled_from([1e-9, 1e-3, 1.0, 1e3, 1e9]),
)


@pytest.mark.parametrize("name", SETS)
@SETTINGS
@given(v=points, z=points)
def test_the_projection_is_the_nearest_point(name: str, v: Tensor, z: Tensor) -> None:
    over = SETS[name]
    p = over.project(v)
    size = 1.0 + float(v.abs().max())
    assert bool(over.contains(p, 1e-13))
    torch.testing.assert_close(over.project(p), p, rtol=0.0, atol=1e-14)
    other = over.project(z)
    assert float((v - p) @ (other - p)) <= 1e-14 * size * (1.0 + float(other.abs().max()))
    assert float((other - p).norm()) <= float((v - z).norm()) * (1.0 + 1e-12) + 1e-14


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_batch_is_a_loop_in_the_same_dtype(name: str, dtype: torch.dtype) -> None:
    over = SETS[name]
    v = torch.randn(2, 3, 4, dtype=dtype)
    p = over.project(v)
    assert p.dtype == dtype
    rows = v.reshape(-1, 4)
    assert torch.allclose(p.reshape(-1, 4), torch.stack([over.project(row) for row in rows]), rtol=0.0, atol=1e-6)
    assert over.contains(p, 1e-6).shape == (2, 3)
    assert bool(over.contains(p, 1e-6).all())
    assert over.centre(v).dtype == dtype
    assert over.centre(v).shape == over.shape
    assert bool(over.contains(over.centre(v), 1e-6))


@pytest.mark.parametrize("name", BOUNDED)
@SETTINGS
@given(direction=points, z=points)
def test_no_point_is_further_along_a_direction_than_the_support(name: str, direction: Tensor, z: Tensor) -> None:
    over = SETS[name]
    s, other = over.support(direction), over.project(z)
    assert bool(over.contains(s, 1e-13))
    assert float(direction @ (other - s)) <= 1e-13 * float(direction.abs().max())


@pytest.mark.parametrize("name", BOUNDED)
def test_supports_of_a_batch_are_those_of_its_rows(name: str) -> None:
    over = SETS[name]
    directions = torch.randn(5, 4, dtype=torch.float64)
    looped = torch.stack([over.support(row) for row in directions])
    torch.testing.assert_close(over.support(directions), looped, rtol=0.0, atol=1e-12)
    assert bool(over.contains(over.support(torch.zeros(4)), 1e-6))


def test_unbounded_sets_have_no_support() -> None:
    for over in (Space(4), SETS["half box"]):
        assert not over.is_bounded
        with pytest.raises(ValueError, match="no maximiser"):
            over.support(torch.ones(4))


def test_known_answers() -> None:
    assert float(Box(-1.0, 1.0).project(torch.tensor(3.0))) == 1.0
    assert Box(-1.0, 1.0).shape == ()
    assert Box(torch.tensor([-1.0]), 1.0).shape == (1,)
    assert Box(0.0, torch.ones(2, 3)).shape == (2, 3)
    assert Simplex(3).support(torch.tensor([1.0, 3.0, 3.0])).tolist() == [0.0, 1.0, 0.0]
    assert Simplex(4).centre(torch.zeros(4)).tolist() == [0.25] * 4
    ball = Ball(torch.zeros(2, 2), 2.0)
    torch.testing.assert_close(ball.project(torch.full((2, 2), 5.0)), torch.ones(2, 2))
    torch.testing.assert_close(ball.support(torch.ones(2, 2)), torch.ones(2, 2))
    half = SETS["half box"].centre(torch.zeros(4))
    assert half.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert Box(torch.tensor([2.0, -torch.inf]), torch.tensor([torch.inf, -3.0])).centre(torch.zeros(2)).tolist() == [
        2.0,
        -3.0,
    ]
    assert Space(3).project(torch.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_boxes_and_balls_of_any_shape_check_every_coordinate() -> None:
    box = Box(torch.zeros(2, 2), torch.ones(2, 2))
    v = torch.full((3, 2, 2), 0.5)
    v[1, 0, 1] = 1.5
    assert box.contains(v).tolist() == [True, False, True]
    assert box.contains(v, 0.6).tolist() == [True, True, True]
    assert Box(-1.0, 1.0).contains(torch.tensor([0.0, 2.0])).tolist() == [True, False]
    assert Ball(torch.zeros(2, 2), 1.1).contains(v).tolist() == [True, False, True]
    assert Ball(torch.tensor(1.0), 0.5).project(torch.tensor([0.0, 1.2])).tolist() == pytest.approx([0.5, 1.2])


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9, 1e30])
def test_a_ball_survives_squares_that_do_not(scale: float) -> None:
    direction = torch.tensor([3.0, -4.0])
    ball = Ball(torch.zeros(2), 5e-3 * scale)
    torch.testing.assert_close(ball.project(scale * direction), 1e-3 * scale * direction, rtol=1e-5, atol=0.0)
    torch.testing.assert_close(ball.support(scale * direction), 1e-3 * scale * direction, rtol=1e-5, atol=0.0)


def test_a_point_inside_a_ball_comes_back_bit_for_bit() -> None:
    v = torch.tensor([0.1, 0.2], dtype=torch.float64)
    assert torch.equal(Ball(torch.tensor([0.3, 0.7], dtype=torch.float64), 1.0).project(v), v)


@pytest.mark.parametrize("name", WITHOUT_WAITING)
@pytest.mark.parametrize("n", [4, 5000])
def test_the_host_never_waits(name: str, n: int) -> None:
    over = SETS[name] if n == 4 else {"simplex": Simplex(n), "space": Space(n)}.get(name, Box(-1.0, torch.ones(n)))
    v = torch.randn(n)
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        over.project(v)
        over.centre(v)
        over.contains(v)
        if over.is_bounded:
            over.support(v)
    names = [event.name for event in trace.events() or []]
    assert any(name.startswith("aten::") for name in names)
    assert "aten::_local_scalar_dense" not in names


@pytest.mark.parametrize("name", WITHOUT_WAITING)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_they_work_where_only_shapes_are_known(name: str, batch: tuple[int, ...]) -> None:
    over = SETS[name]
    with FakeTensorMode(allow_non_fake_inputs=True):
        for device in ("meta", "cpu"):
            v = torch.empty(*batch, 4, device=device)
            assert over.project(v).shape == v.shape
            assert over.project(v).device.type == device
            assert over.centre(v).device.type == device
            assert over.contains(v).shape == batch
            if over.is_bounded:
                assert over.support(v).device.type == device
    long = torch.empty(5000, device="meta")
    assert Simplex(5000).project(long).device.type == "meta"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Simplex(0), "Simplex: n must be at least 1, but is 0"),
        (lambda: Space(-2), "Space: n must be at least 1, but is -2"),
        (lambda: Box(1.0, -1.0), r"low\[\] = 1.0 and high\[\] = -1.0"),
        (lambda: Box(torch.tensor([0.0, 3.0]), torch.tensor([1.0, 2.0])), r"low\[1\] = 3.0 and high\[1\] = 2.0"),
        (lambda: Box(torch.zeros(2), torch.ones(3)), r"one shape, not \(2,\) and \(3,\)"),
        (lambda: Box(torch.tensor([0.0, math.nan]), 1.0), r"Box: low must not hold NaN, but low\[1\] is NaN"),
        (lambda: Box(0.0, math.nan), "Box: high must not hold NaN"),
        (lambda: Box(math.inf, math.inf), "holds no point"),
        (lambda: Box(torch.zeros(0), torch.zeros(0)), "Box: low must have at least one entry"),
        (lambda: Ball(torch.zeros(2), 0.0), "Ball: radius must be positive and finite, but is 0.0"),
        (lambda: Ball(torch.zeros(2), math.inf), "but is inf"),
        (lambda: Ball(torch.zeros(2), math.nan), "but is nan"),
        (lambda: Ball(torch.tensor([0.0, math.inf]), 1.0), "Ball: center must be finite"),
        (lambda: Ball(torch.tensor([math.nan]), 1.0), r"Ball: center must not hold NaN, but center\[0\] is NaN"),
        (lambda: ChiSquareBall(0, 1.0), "ChiSquareBall: n must be at least 1"),
        (lambda: ChiSquareBall(3, -1.0), "ChiSquareBall: radius must be positive and finite, but is -1.0"),
        (lambda: KLBall(3, math.inf), "KLBall: radius must be positive and finite, but is inf"),
        (lambda: Simplex(3).project(torch.zeros(4)), r"Simplex has points of shape \(3,\).*its shape is \(4,\)"),
        (lambda: Box(torch.zeros(2, 2), 1.0).project(torch.zeros(2)), r"shape \(2, 2\).*its shape is \(2,\)"),
    ],
)
def test_bad_input_is_named(build: "object", message: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=message):
        build()


def test_wrong_kinds_of_numbers_are_named() -> None:
    with pytest.raises(TypeError, match=r"Simplex: n must be an int of at least 1, but is 2\.0"):
        Simplex(2.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Simplex needs floating point numbers.*torch.int64"):
        Simplex(2).project(torch.tensor([1, 2]))
