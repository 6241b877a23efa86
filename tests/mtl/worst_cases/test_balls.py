"""The chi-square ball and the Kullback-Leibler ball: exact, on the sphere, and told in words."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import torch
from torch import Tensor

from idbpd.mtl import worst_weighting
from idbpd.mtl.quality import tail_mean
from idbpd.mtl.worst_cases import ChiSquare, KullbackLeibler
from tests.mtl.worst_cases.convex_reference import HARD_LOSSES, reference

RADII = [0.01, 0.5, 3.0, 1e3]


@pytest.mark.parametrize("losses", HARD_LOSSES)
@pytest.mark.parametrize("radius", RADII)
def test_the_chi_square_ball_has_the_maximum_that_cvxpy_finds(losses: Tensor, radius: float) -> None:
    def program(y: Any, n: int, scale: float) -> tuple[Any, list[Any]]:
        return 0, [n / 2 * cp.sum_squares(y - 1 / n) <= radius]

    weights, value = worst_weighting(losses, ChiSquare(radius))
    expected, scale = reference(losses, program)
    assert abs(value.item() - expected) <= 1e-8 * scale
    assert weights.sum().item() == pytest.approx(1, abs=1e-12)
    n = len(losses)
    assert n / 2 * ((weights - 1 / n) ** 2).sum() <= radius * (1 + 1e-9)


@pytest.mark.parametrize("losses", HARD_LOSSES)
@pytest.mark.parametrize("radius", RADII)
def test_the_kullback_leibler_ball_has_the_maximum_that_cvxpy_finds(losses: Tensor, radius: float) -> None:
    def program(y: Any, n: int, scale: float) -> tuple[Any, list[Any]]:
        return 0, [cp.sum(cp.kl_div(y, np.full(n, 1 / n))) <= radius]

    weights, value = worst_weighting(losses, KullbackLeibler(radius))
    expected, scale = reference(losses, program)
    assert abs(value.item() - expected) <= 1e-8 * scale
    assert weights.sum().item() == pytest.approx(1, abs=1e-12)
    assert torch.xlogy(weights, weights * len(losses)).sum() <= radius * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("worst_case", "share"), [(ChiSquare(0.5), 0.5), (ChiSquare(2.0), 0.2), (KullbackLeibler(np.log(4.0)), 0.25)]
)
def test_the_share_that_the_sentence_states_is_protected(worst_case: ChiSquare | KullbackLeibler, share: float) -> None:
    losses = torch.empty(100, dtype=torch.float64).exponential_()
    assert worst_weighting(losses, worst_case).value >= tail_mean(losses, share)
    assert f"among them any {100 * share:g} % of the samples alone" in worst_case.protects("churn", 100)


def test_they_say_what_is_protected() -> None:
    assert (
        ChiSquare(0.5)
        .protects("churn", 70)
        .startswith(
            "every weighting of the 70 samples of churn whose chi-square distance from equal weights is at most 0.5, "
        )
    )
    assert (
        KullbackLeibler(0.1)
        .protects("churn", 70)
        .startswith(
            "every weighting of the 70 samples of churn whose relative entropy to equal weights is at most 0.1, "
        )
    )


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize(("kind", "name"), [(ChiSquare, "chi2"), (KullbackLeibler, "kl")])
def test_a_radius_without_meaning_is_refused(kind: Any, name: str, radius: float) -> None:
    with pytest.raises(ValueError, match=f"the radius of {name} must be positive, got {radius}"):
        kind(radius)
