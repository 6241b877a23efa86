"""Small quadratic programs in numbers: the same minima as with tensors."""

import math
from unittest import mock

import pytest
import torch

from idbpd.optim.qp import active_set
from idbpd.optim.qp.active_set import Group, minimise_on_simplices
from idbpd.optim.qp.few_unknowns import minimise_few


@pytest.mark.parametrize("n", [2, 3, 5, 9, 20])
def test_as_with_tensors(n: int) -> None:
    for seed in range(10):
        random = torch.Generator().manual_seed(seed)
        rows = torch.randn(n, max(1, n // 2), generator=random, dtype=torch.float64)
        Q, b = rows @ rows.T, torch.randn(n, generator=random, dtype=torch.float64)
        groups = [Group(range(n // 2), 1.0), Group(range(n // 2, n), 10.0)]
        with mock.patch.object(active_set, "MOST_UNKNOWNS", 0):
            by_tensors = minimise_on_simplices(Q, b, groups)
        by_numbers = torch.tensor(minimise_few(Q.tolist(), b.tolist(), groups), dtype=torch.float64)
        values = [float(0.5 * z @ Q @ z + b @ z) for z in (by_tensors, by_numbers)]
        assert values[1] == pytest.approx(values[0], rel=1e-10, abs=1e-10)
        assert float(by_numbers.min()) >= 0
        assert float(by_numbers[: n // 2].sum()) == pytest.approx(1.0)


def test_without_a_total() -> None:
    z = minimise_few([[2.0, 0.0], [0.0, 2.0]], [-2.0, 3.0], [Group(range(2), math.inf)])
    assert z == pytest.approx([1.0, 0.0])
