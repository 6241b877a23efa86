"""The small quadratic programs over several simplices: the KKT conditions of every answer."""

import math

import pytest
import torch

from idbpd.optim.qp.active_set import Group, minimise_on_simplices


@pytest.mark.parametrize("seed", range(60))
def test_the_answer_satisfies_the_kkt_conditions(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    n, rank = 3 + seed % 7, 1 + seed % 5
    rows = draw(n, rank) * 10 ** float(draw(1))
    if seed % 3 == 0:
        rows[1] = rows[0]  # the same worst case twice
    split = n // 2
    groups = [Group(range(split), 1.0), Group(range(split, n), 5.0)]
    linear = draw(n) if seed % 2 else torch.zeros(n, dtype=torch.float64)
    if seed % 4 == 1:
        rows[-1] = linear[-1] = 0.0  # what is not spent
    if seed % 5 == 0:
        groups[1] = Group(range(split, n), math.inf)
        linear = rows @ draw(rank)  # bounded below

    z = minimise_on_simplices(rows @ rows.T, linear, groups)

    slope = rows @ (rows.T @ z) + linear
    size = 1e-9 * (1 + float(slope.abs().max()) + float(rows.square().sum() * z.abs().max()))
    assert bool((z >= 0).all())
    for members, total in groups:
        own = list(members)
        if math.isfinite(total):
            assert float(z[own].sum()) == pytest.approx(total)
            price = float(slope[own].min())
        else:
            price = 0.0
        assert float(slope[own].min()) >= price - size
        assert float((z[own] * (slope[own] - price)).abs().max()) <= size * (1 + float(z[own].max()))


def test_two_points_on_a_line() -> None:
    # The point of the segment from (1, 1) to (-3, 1) that is nearest to 0 is (0, 1).
    rows = torch.tensor([[1.0, 1.0], [-3.0, 1.0]], dtype=torch.float64)

    z = minimise_on_simplices(rows @ rows.T, torch.zeros(2, dtype=torch.float64), [Group([0, 1], 1.0)])

    torch.testing.assert_close(z, torch.tensor([0.75, 0.25], dtype=torch.float64))
