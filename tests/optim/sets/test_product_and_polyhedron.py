"""Products of sets and polyhedra: the geometry against brute force, and maxima over them."""

import itertools

import pytest
import torch
from torch import Tensor

from idbpd.optim import Constraint, Known, Problem, Status, solve
from idbpd.optim.inner.all_corners import corners_of
from idbpd.optim.inner.function import InnerFunction
from idbpd.optim.inner.global_maximum import global_maximum
from idbpd.optim.inner.search import Answer, Task
from idbpd.optim.sets import Ball, Box, ChiSquareBall, ConvexSet, Polyhedron, Product, Simplex, Space


def at(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


MIXED = Product(Box(at(-1, 0), at(1, 2)), Simplex(3), Ball(torch.zeros(2, 2, dtype=torch.float64), 0.5))


def polyhedron(seed: int, n: int, m: int) -> Polyhedron:
    """Random half-spaces around a point inside of the box [-1, 1]."""
    A = random(m, n, seed=seed)
    return Polyhedron(A, 0.3 * A.norm(dim=1), -1.0, 1.0)


def by_subsets(over: Polyhedron) -> Tensor:
    """All corners, from all choices of n sides."""
    n = over.dimension
    found = []
    for chosen in itertools.combinations(range(over.rows.shape[0]), n):
        rows, limits = over.rows[list(chosen)], over.limits[list(chosen)]
        if abs(float(torch.linalg.det(rows))) > 1e-9:
            point = torch.linalg.solve(rows, limits)
            if bool(over.contains(point, 1e-9)):
                found.append(point)
    return torch.stack(found)


def test_a_product_does_everything_part_by_part() -> None:
    points = 2 * random(50, 9)
    projected = MIXED.project(points)
    assert bool(MIXED.contains(projected, 1e-12).all())
    assert not bool(MIXED.contains(points, 1e-12).all())
    for factor, part, found in zip(MIXED.factors, MIXED.split(points), MIXED.split(projected), strict=True):
        torch.testing.assert_close(found, factor.project(part))
    assert MIXED.split(points)[2].shape == (50, 2, 2)
    assert bool(MIXED.contains(MIXED.centre(points)))
    # No point of a sample has a larger inner product than the support point.
    direction = random(9, seed=1)
    best = float(direction @ MIXED.support(direction))
    assert float((projected @ direction).amax()) <= best + 1e-12
    assert bool(MIXED.contains(MIXED.support(direction), 1e-12))


def test_products_are_flattened_and_boxes_joined() -> None:
    nested = Product(Product(Box(0.0, at(1, 1)), Box(at(-1), 3.0)), Space(1))
    assert len(nested.factors) == 3
    simple = nested.simplified()
    assert isinstance(simple, Box)
    assert simple.low.tolist() == [0, 0, -1, -torch.inf]
    assert not nested.is_bounded
    assert MIXED.simplified() is MIXED
    with pytest.raises(ValueError, match="at least two sets"):
        Product(Simplex(2))
    with pytest.raises(TypeError, match="got int"):
        Product(Simplex(2), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (2, 8), (3, 4), (3, 9), (4, 6), (5, 3)])
def test_all_corners_of_a_polyhedron(n: int, m: int) -> None:
    over = polyhedron(n * 10 + m, n, m)
    expected = by_subsets(over)
    distances = torch.cdist(over.corners, expected)
    assert float(distances.amin(0).amax()) <= 1e-6  # every one is found
    assert float(distances.amin(1).amax()) <= 1e-6  # and nothing else


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 6), (6, 4)])
def test_projection_and_support_of_a_polyhedron(n: int, m: int) -> None:
    over = polyhedron(n + m, n, m)
    for point in 2 * random(20, n, seed=m):
        near = over.project(point)
        assert bool(over.contains(near, 1e-9))
        # The nearest point: all corners are on the other side of the plane through it.
        assert float(((over.corners - near) @ (point - near)).amax()) <= 1e-8
        best = over.support(point)
        assert bool(over.contains(best, 1e-9))
        assert float(point @ best) == pytest.approx(float((over.corners @ point).amax()))
    assert bool(over.contains(over.centre(at(0)), 1e-9))


def test_polyhedra_that_mean_nothing() -> None:
    with pytest.raises(ValueError, match=r"A must have the shape \(m, n\) and b \(m,\)"):
        Polyhedron(at(1, 1), at(1), 0.0, 1.0)
    with pytest.raises(ValueError, match="no point of the box meets the first 2 rows"):
        Polyhedron(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([2.0, -1.0]), 0.0, 1.0)
    with pytest.raises(ValueError, match="must be finite"):
        Polyhedron(torch.ones(1, 2), torch.ones(1), 0.0, torch.inf)
    with pytest.raises(ValueError, match="at most 12 variables"):
        Polyhedron(torch.ones(1, 20), torch.ones(1), 0.0, 1.0)


def highest(function: object, over: ConvexSet) -> Answer:
    f = InnerFunction(function)  # type: ignore[arg-type]
    return global_maximum(Task(f, over, 1e-8, 1.0), over.centre(at(0)))


@pytest.mark.parametrize("over", [polyhedron(1, 3, 5), MIXED, Product(polyhedron(2, 2, 3), Simplex(3))], ids=str)
def test_linear_concave_and_convex_functions_have_exact_maxima(over: ConvexSet) -> None:
    n = over.dimension
    slope, target = random(n, seed=3), 2 * random(n, seed=4)
    linear = highest(lambda w: slope @ w, over)
    assert linear.known is Known.EXACT
    assert linear.value == pytest.approx(float(slope @ over.support(slope)))
    concave = highest(lambda w: -(w - target).square().sum(), over)
    assert concave.known is Known.EXACT
    assert concave.value == pytest.approx(-float((over.project(target) - target).square().sum()), abs=1e-7)
    corners = corners_of(over, target)
    if corners is not None:
        convex = highest(lambda w: (w - target).square().sum() + (slope @ w).exp(), over)
        values = (corners - target).square().sum(1) + (corners @ slope).exp()
        assert convex.known is Known.EXACT
        assert convex.value == pytest.approx(float(values.amax()))


def test_a_sum_over_factors_is_maximised_factor_by_factor() -> None:
    """In the first part it has several peaks, in the second it is concave over a ball."""
    over = Product(Box(at(-3), at(3)), Ball(at(0, 0), 1.0))

    def function(w: Tensor) -> Tensor:
        return torch.sin(5 * w[0]) - 0.1 * w[0] ** 2 - (w[1] - 2) ** 2 - 3 * (w[2] - 1) ** 2

    answer = highest(function, over)

    line = torch.linspace(-3, 3, 100_001, dtype=torch.float64)
    angles = torch.linspace(0, 7, 100_001, dtype=torch.float64)
    expected = (torch.sin(5 * line) - 0.1 * line**2).amax()
    expected += (-((angles.cos() - 2) ** 2) - 3 * (angles.sin() - 1) ** 2).amax()
    assert answer.known in (Known.EXACT, Known.GLOBAL)
    assert answer.value == pytest.approx(float(expected), abs=1e-6)


def test_robust_problem_over_a_polyhedron() -> None:
    """max_w <w, x> over a triangle is the largest of three planes."""
    triangle = Polyhedron(torch.ones(1, 2, dtype=torch.float64), at(1), 0.0, 1.0)
    problem = Problem(
        lambda x: (x - at(2, 3)).square().sum(), constraints=[Constraint(lambda x, w: w @ x - 1, triangle)]
    )

    solution = solve(problem, at(0, 0))

    assert solution.status is Status.CONVERGED, solution.reason
    torch.testing.assert_close(solution.x, at(1, 1), rtol=0, atol=1e-6)
    assert solution.known == (Known.EXACT, Known.EXACT)


def test_robust_problem_over_a_product() -> None:
    """An uncertain slope in a ball and an uncertain mixture: ||x|| + max(x) <= 1, by hand on the diagonal."""
    over = Product(Ball(at(0, 0), 1.0), Simplex(2))

    def psi(x: Tensor, w: Tensor) -> Tensor:
        u, v = over.split(w)
        return u @ x + v @ x - 1

    solution = solve(Problem(lambda x: -x.sum() + 0.1 * x @ x, constraints=[Constraint(psi, over)]), at(0.1, 0.0))

    assert solution.status is Status.CONVERGED, solution.reason
    side = 1 / (1 + 2**0.5)
    torch.testing.assert_close(solution.x, at(side, side), rtol=0, atol=1e-5)


def test_product_with_a_divergence_ball() -> None:
    over = Product(ChiSquareBall(4, 0.1), Box(at(-1), at(1)))
    losses = at(0.0, 1.0, 2.0, 3.0)

    def phi(x: Tensor, y: Tensor) -> Tensor:
        p, shift = over.split(y)
        return p @ (losses - x).square() + 0.1 * shift[0] * x[0]

    solution = solve(Problem(phi, over=over), at(0.0))

    assert solution.status is Status.CONVERGED, solution.reason
    line = torch.linspace(0, 3, 30_001, dtype=torch.float64)
    spread = (losses - line.unsqueeze(1)).square()
    ball = ChiSquareBall(4, 0.1)
    values = (ball.support(spread) * spread).sum(1) + 0.1 * line.abs()
    assert solution.f == pytest.approx(float(values.amin()), abs=1e-6)
