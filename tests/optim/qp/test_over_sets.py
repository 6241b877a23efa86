"""Concave quadratics over sets: the maximiser meets the conditions of optimality, whatever is active."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from idbpd.optim.qp.over_sets import maximise_quadratic
from idbpd.optim.sets import Ball, Box, ChiSquareBall, ConvexSet, Simplex, Space


def a_set(kind: str, n: int, random: torch.Generator) -> ConvexSet:
    width = torch.rand(n, dtype=torch.float64, generator=random)
    sets: dict[str, ConvexSet] = {
        "box": Box(-width, 0.5 * width),
        "half box": Box(-width, torch.inf),
        "flat box": Box(-width, torch.where(width > 0.5, width, -width)),
        "simplex": Simplex(n),
        "ball": Ball(width, 0.3),
        "large ball": Ball(width, 100.0),
        "space": Space(n),
    }
    return sets[kind]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 15), scale=st.sampled_from([1e-6, 1.0, 1e6]))
@pytest.mark.parametrize("kind", ["box", "half box", "flat box", "simplex", "ball", "large ball", "space"])
def test_the_gradient_points_out_of_the_set(kind: str, seed: int, n: int, scale: float) -> None:
    random = torch.Generator().manual_seed(seed)
    over = a_set(kind, n, random)
    root = torch.randn(n, n, dtype=torch.float64, generator=random)
    A = scale * (root @ root.T + 0.1 * torch.eye(n, dtype=torch.float64))
    g = scale * 3.0 * torch.randn(n, dtype=torch.float64, generator=random)
    y = over.project(torch.randn(n, dtype=torch.float64, generator=random))
    z = maximise_quadratic(g, A, over, y)
    assert bool(over.contains(z, 1e-12))
    slope = (g - A @ (z - y)) / scale
    # z is its own projected gradient step: the condition of optimality over any convex set.
    assert float((over.project(z + slope) - z).abs().max()) <= 1e-10


def test_other_sets_are_refused() -> None:
    one: Tensor = torch.ones(1, dtype=torch.float64)
    with pytest.raises(TypeError, match="no exact quadratic maximum is known over ChiSquareBall"):
        maximise_quadratic(one, torch.eye(1, dtype=torch.float64), ChiSquareBall(1, 1.0), one)
