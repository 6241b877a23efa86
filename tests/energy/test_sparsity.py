"""The smooth measure of non-zero weights: its limits, its slope, and the schedule."""

import pytest
import torch

from idbpd.energy import measure, schedule, slope, width_at_which

WEIGHTS = torch.tensor([0.0, 0.0, 1e-3, -0.2, 0.5, -3.0], dtype=torch.float64)


def test_it_becomes_the_number_of_non_zero_weights_as_the_width_falls() -> None:
    found = [measure(WEIGHTS, width).item() for width in (10.0, 1.0, 0.1, 1e-2, 1e-6)]
    assert found == sorted(found)
    assert found[0] < 0.1
    assert found[-1] == pytest.approx(4, abs=1e-5)
    assert all(value < 4 for value in found)  # a lower bound of the number at every width


def test_a_weight_of_the_size_of_the_width_counts_half() -> None:
    assert measure(torch.tensor([-0.3]), 0.3).item() == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-3])
def test_the_slope_is_that_of_autograd(width: float) -> None:
    weights = WEIGHTS.clone().requires_grad_()
    squares = weights.square()
    (expected,) = torch.autograd.grad((squares / (squares + width**2)).sum(), weights)
    assert torch.allclose(slope(WEIGHTS, width), expected, rtol=1e-12)


def test_the_slope_has_the_precision_of_the_weights_and_the_measure_float64() -> None:
    assert slope(WEIGHTS.float(), 0.1).dtype == torch.float32
    assert measure(WEIGHTS.float(), 0.1).dtype == torch.float64


def test_a_schedule_ends_at_its_last_width() -> None:
    assert schedule(1.0, 1e-3, 4) == pytest.approx([1.0, 0.1, 0.01, 1e-3])
    assert schedule(1.0, 0.5, 1) == [0.5]


def test_the_first_width_is_the_smallest_at_which_a_budget_is_kept() -> None:
    width = width_at_which(lambda width: measure(WEIGHTS, width).item() <= 2.0, 100.0)
    assert measure(WEIGHTS, width).item() == pytest.approx(2.0, rel=1e-9)
    assert measure(WEIGHTS, width).item() <= 2.0
