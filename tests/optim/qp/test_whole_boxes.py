"""The quadratic programs over whole boxes: the answer meets the conditions of an optimum."""

import pytest
import torch
from torch import Tensor

from idbpd.optim.qp.whole_boxes import Unknowns, minimise_over_boxes

DOUBLE = torch.float64


def _random(seed: int, rank: int, ones: int, limited: int, sides: int) -> tuple[Tensor, Tensor, Unknowns]:
    random = torch.Generator().manual_seed(seed)
    size = ones + limited + sides
    root = torch.randn(size, rank, generator=random, dtype=DOUBLE)
    owners = torch.randint(0, ones + limited, (sides,), generator=random)
    return root @ root.T, torch.randn(size, generator=random, dtype=DOUBLE), Unknowns(ones, limited, owners)


def _least_along(gradient: Tensor, kinds: Unknowns, limit: float) -> float:
    """The least value of a linear function over the set: each row as good as its best corner."""
    k = kinds.rows
    worth = gradient[:k].index_add(0, kinds.owners, -gradient[k:].abs())
    of_ones = float(worth[: kinds.ones].min()) if kinds.ones else 0.0
    of_limited = limit * min(float(worth[kinds.ones :].min()), 0.0) if kinds.limited else 0.0
    return of_ones + of_limited


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("rank", "ones", "limited", "sides"), [(40, 1, 1, 10), (6, 2, 3, 30), (3, 1, 2, 25)])
@pytest.mark.parametrize("limit", [0.3, 50.0])
def test_no_point_of_the_set_is_lower(seed: int, rank: int, ones: int, limited: int, sides: int, limit: float) -> None:
    Q, v, kinds = _random(seed, rank, ones, limited, sides)
    u = minimise_over_boxes(Q, v, kinds, limit)
    assert u is not None
    k = kinds.rows
    assert bool((u[:k] >= 0).all())
    assert float(u[: kinds.ones].sum()) == pytest.approx(1.0, abs=1e-9)
    assert float(u[kinds.ones : k].sum()) <= limit * (1 + 1e-9)
    assert bool((u[k:].abs() <= u[kinds.owners] + 1e-12).all())
    gradient = Q @ u - v
    # The function is convex: no point is lower by more than this linear bound.
    assert float(gradient @ u) - _least_along(gradient, kinds, limit) <= 1e-8 * (1 + float(Q.diagonal().sum()))


def test_the_violation_alone_has_no_unknowns_with_the_sum_one() -> None:
    Q, v, kinds = _random(0, 8, 0, 2, 12)
    u = minimise_over_boxes(Q, v, kinds, 1.0)
    assert u is not None
    gradient = Q @ u - v
    assert float(gradient @ u) - _least_along(gradient, kinds, 1.0) <= 1e-9
