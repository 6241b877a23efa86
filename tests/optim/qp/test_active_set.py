"""The small quadratic programs: optimality conditions at any size and scale, and against brute force."""

import itertools
import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from idbpd.optim.qp.active_set import minimise_on_orthant
from idbpd.optim.qp.all_faces import minimise_over_faces

SETTINGS = settings(max_examples=80, deadline=None)
shapes = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(0, 10_000))
scales = st.sampled_from([1e-8, 1e-3, 1.0, 1e4])


def program(n: int, rank: int, seed: int, scale: float) -> tuple[Tensor, Tensor]:
    """A Gram matrix of n vectors in ``rank`` dimensions, some of them repeated, and a linear term that is attained."""
    generator = torch.Generator().manual_seed(seed)
    G = scale * torch.randn(n, rank, generator=generator, dtype=torch.float64)
    if n > 2:
        G[-1] = G[0]
    spread = torch.logspace(0, float(torch.randint(0, 4, (), generator=generator)), n, dtype=torch.float64)
    G = G * spread.unsqueeze(1)
    return G @ G.T, G @ (scale * torch.randn(rank, generator=generator, dtype=torch.float64))


def assert_optimal(Q: Tensor, b: Tensor, z: Tensor, budget: float) -> None:
    """The KKT conditions, relative to the size of the terms."""
    slope = Q @ z + b
    size = Q.abs() @ z + b.abs() + 1e-300
    used = float(z.sum())
    assert bool((z >= 0).all())
    assert used <= budget * (1 + 1e-9)
    price = max(0.0, float((-slope)[z > 0].max())) if used >= budget * (1 - 1e-9) and bool((z > 0).any()) else 0.0
    reduced = (slope + price) / (size + price)
    assert bool((reduced >= -1e-6).all())
    assert float((z * (slope + price)).abs().sum()) <= 1e-6 * float(z @ (size + price)) + 1e-300


@SETTINGS
@given(shapes, scales)
def test_optimal_without_budget(shape: tuple[int, int, int], scale: float) -> None:
    Q, b = program(*shape, scale)
    assert_optimal(Q, b, minimise_on_orthant(Q, b), math.inf)


@SETTINGS
@given(shapes, scales, st.sampled_from([1e-3, 1.0, 1e6]))
def test_optimal_under_a_budget(shape: tuple[int, int, int], scale: float, budget: float) -> None:
    Q, b = program(*shape, scale)
    shifted = b - scale**2 * torch.linspace(0, 1, b.numel(), dtype=torch.float64)  # may be unbounded without the budget
    assert_optimal(Q, shifted, minimise_on_orthant(Q, shifted, budget), budget)


def test_against_every_choice_of_free_variables() -> None:
    for seed in range(20):
        Q, b = program(4, 4, seed, 1.0)
        Q = Q + 1e-3 * torch.eye(4, dtype=torch.float64)
        values = []
        for size in range(5):
            for free in map(list, itertools.combinations(range(4), size)):
                z = torch.zeros(4, dtype=torch.float64)
                z[free] = torch.linalg.solve(Q[free][:, free], -b[free])
                if bool((z >= 0).all()):
                    values.append(float(0.5 * z @ Q @ z + b @ z))
        found = minimise_on_orthant(Q, b)
        assert abs(float(0.5 * found @ Q @ found + b @ found) - min(values)) <= 1e-9 * (1 + abs(min(values)))


def test_one_unknown_is_the_closed_form() -> None:
    def solved(q: float, b: float, budget: float) -> float:
        return float(minimise_on_orthant(torch.tensor([[q]]).double(), torch.tensor([b]).double(), budget))

    assert solved(2.0, -3.0, math.inf) == 1.5
    assert solved(2.0, -3.0, 1.0) == 1.0
    assert solved(2.0, 3.0, 1.0) == 0.0
    assert solved(0.0, -1.0, 7.0) == 7.0  # no curvature: all of the budget
    assert solved(0.0, 1.0, 7.0) == 0.0


def test_no_curvature_at_all() -> None:
    z = minimise_on_orthant(torch.zeros(3, 3).double(), torch.tensor([1.0, -2.0, -1.0]).double(), 5.0)
    torch.testing.assert_close(z, torch.tensor([0.0, 5.0, 0.0], dtype=torch.float64))


@SETTINGS
@given(shapes, scales, st.integers(0, 2**6 - 1))
def test_over_faces_as_by_active_sets(shape: tuple[int, int, int], scale: float, choice: int) -> None:
    Q, b = program(*shape, scale)
    allowed = torch.tensor([bool(choice >> at & 1) for at in range(b.numel())])
    z = minimise_over_faces(Q, b, allowed, 1e12)
    assert not z[~allowed].any()
    assert_optimal(Q[allowed][:, allowed], b[allowed], z[allowed], 1e12)


def test_over_faces_incompatible_constraints_do_not_run_away() -> None:
    Q = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64)
    z = minimise_over_faces(Q, -torch.ones(2, dtype=torch.float64), torch.tensor([True, True]), 1e12)
    assert bool(torch.isfinite(z).all())
    assert float(z.sum()) <= 1e12 * (1 + 1e-9)
    torch.testing.assert_close(z[0], z[1])


def test_over_faces_without_any_allowed() -> None:
    Q, b = program(3, 3, 0, 1.0)
    assert minimise_over_faces(Q, b, torch.zeros(3, dtype=torch.bool), 1e12).tolist() == [0, 0, 0]


def test_nothing_under_the_solution_of_all_faces_reads_a_number() -> None:
    Q, b = torch.eye(3, dtype=torch.float64), -torch.ones(3, dtype=torch.float64)
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        z = minimise_over_faces(Q, b, torch.ones(3, dtype=torch.bool), 1e12)
    assert "aten::_local_scalar_dense" not in {event.name for event in trace.events() or []}
    torch.testing.assert_close(z, -b)
