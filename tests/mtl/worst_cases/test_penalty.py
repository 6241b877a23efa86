import cvxpy as cp
import pytest
import torch
from torch import Tensor

from idbpd.mtl import Penalty, worst_weighting
from idbpd.mtl.worst_cases import Mean
from tests.mtl.worst_cases.convex_reference import HARD_LOSSES, reference


@pytest.mark.parametrize("losses", HARD_LOSSES)
@pytest.mark.parametrize("regularisation", [1e-3, 0.1, 10.0])
def test_it_is_the_maximum_that_cvxpy_finds(losses: Tensor, regularisation: float) -> None:
    value = worst_weighting(losses, Penalty(regularisation)).value.item()
    expected, scale = reference(
        losses, lambda y, n, scale: (regularisation / scale * n / 2 * cp.sum_squares(y - 1 / n), [])
    )
    assert abs(value - expected) <= 1e-8 * scale


def test_it_says_what_lambda_means() -> None:
    assert Penalty(0.1).protects("churn", 70) == (
        "every weighting of the 70 samples of churn, at a price: a sample whose loss is 0.1 above the rest counts "
        "twice, one 0.2 above counts three times"
    )
    # As it says: among many samples, one that is lambda or two lambda above the others.
    for above, times in ((0.1, 2), (0.2, 3)):
        losses = torch.zeros(10_000, dtype=torch.float64)
        losses[0] = above
        assert 10_000 * worst_weighting(losses, Penalty(0.1)).weights[0].item() == pytest.approx(times, abs=1e-3)


def test_without_a_worst_case_it_is_the_mean() -> None:
    losses = torch.rand(9, dtype=torch.float64)
    assert worst_weighting(losses, Mean()).value.item() == pytest.approx(losses.mean().item(), rel=1e-15)
    assert Mean().protects("churn", 9) == "the mean loss over the 9 samples of churn, and no part of them by itself"
