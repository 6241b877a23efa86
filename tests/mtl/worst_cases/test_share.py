"""The worst share of the samples: exact, between the mean and the maximum, and near the plain tail mean."""

from typing import Any

import cvxpy as cp
import pytest
import torch
from torch import Tensor

from idbpd.mtl import Task, worst_weighting
from idbpd.mtl.quality import tail_mean
from idbpd.mtl.worst_cases import Share
from tests.mtl.worst_cases.convex_reference import HARD_LOSSES, reference


@pytest.mark.parametrize("losses", HARD_LOSSES)
@pytest.mark.parametrize(("share", "smoothing"), [(0.2, 0.05), (0.2, 1e-4), (0.5, 1.0), (0.07, 0.01), (1.0, 0.05)])
def test_it_is_the_maximum_that_cvxpy_finds(losses: Tensor, share: float, smoothing: float) -> None:
    def program(y: Any, n: int, scale: float) -> tuple[Any, list[Any]]:
        return smoothing / scale * n / 2 * cp.sum_squares(y - 1 / n), [y <= 1 / (share * n)]

    weights, value = worst_weighting(losses, Share(share, smoothing))
    expected, scale = reference(losses, program)
    assert abs(value.item() - expected) <= 1e-8 * scale
    assert weights.sum().item() == pytest.approx(1, abs=1e-12)
    assert weights.min() >= 0
    assert weights.max() <= 1 / (share * len(losses)) * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5, 0.9, 1.0])
def test_it_is_below_the_plain_tail_mean_by_at_most_the_stated_error(share: float) -> None:
    losses = torch.empty(200, dtype=torch.float64).exponential_()
    plain = tail_mean(losses, share).item()
    for smoothing in (1e-9, 0.01, 0.1, 1.0):
        value = worst_weighting(losses, Share(share, smoothing)).value.item()
        assert plain - smoothing * (1 / share - 1) / 2 - 1e-12 <= value <= plain + 1e-12


def test_most_samples_have_no_weight() -> None:
    losses = torch.empty(1000, dtype=torch.float64).exponential_()
    assert 100 <= (worst_weighting(losses, Share(0.1, 0.05)).weights > 0).sum() < 150


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_weights_stay_weights_at_any_scale(scale: float) -> None:
    losses = scale * torch.rand(50, dtype=torch.float64)
    weights = worst_weighting(losses, Share(0.25)).weights
    assert weights.sum().item() == pytest.approx(1, abs=1e-12)
    assert 0 <= weights.min() <= weights.max() <= 1 / (0.25 * 50) * (1 + 1e-12)


def test_a_loss_without_a_value_is_not_hidden() -> None:
    assert worst_weighting(torch.tensor([0.1, torch.nan, 0.3]), Share(0.5)).value.isnan()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 0.0}, "share must be above 0 and at most 1, got 0.0; 0.2 is the worst fifth of the data"),
        ({"share": 1.5}, "share must be above 0 and at most 1, got 1.5"),
        ({"share": 0.2, "smoothing": 0.0}, "smoothing must be positive, got 0.0"),
    ],
)
def test_options_without_meaning_are_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Share(**options)


def test_a_share_of_less_than_one_sample_is_refused() -> None:
    task = Task("churn", ("yes",), torch.arange(8), torch.zeros(8, 1))
    assert Share(0.125).for_task(task) == Share(0.125)
    with pytest.raises(ValueError, match=r"share = 0.1 of 8 samples is less than one sample; .* something is 0.125"):
        Share(0.1).for_task(task)


def test_it_says_what_is_protected() -> None:
    assert Share(0.2, 0.05).protects("churn", 2386) == (
        "whatever fifth of the 2386 samples of churn counts: the mean loss of the worst 20 % (at most 0.1 above the "
        "stated value, by smoothing)"
    )
    assert "whatever 15 % of the 40 samples" in Share(0.15).protects("churn", 40)
