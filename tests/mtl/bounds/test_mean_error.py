"""The bound of a mean error."""

import math

import pytest
import torch

from idbpd.mtl.bounds import clopper_pearson_upper, mean_error_bound


def test_the_bound_of_a_rate_is_exact() -> None:
    errors = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    assert mean_error_bound(errors, is_rate=True) == (0.4, clopper_pearson_upper(2, 5, 0.95))


def test_the_bound_of_other_errors_is_above_their_mean_and_knows_of_larger_ones() -> None:
    errors = torch.rand(200, dtype=torch.float64)
    value, bound = mean_error_bound(errors, is_rate=False)
    assert value == pytest.approx(errors.mean().item())
    assert value < bound < 0.62
    _, knowing = mean_error_bound(errors, is_rate=False, training=torch.tensor([5.0]))
    assert knowing > bound


@pytest.mark.parametrize(("count", "is_rate"), [(0, True), (0, False), (1, False)])
def test_too_few_samples_tell_nothing(count: int, is_rate: bool) -> None:
    value, bound = mean_error_bound(torch.ones(count, dtype=torch.float64), is_rate=is_rate)
    assert math.isnan(value) == (count == 0)
    assert bound == math.inf


def test_a_rate_is_below_its_bound_as_often_as_stated() -> None:
    generator = torch.Generator().manual_seed(0)
    draws = (torch.rand(300, 80, generator=generator) < 0.1).double()
    covered = sum(mean_error_bound(row, is_rate=True)[1] >= 0.1 for row in draws)
    assert covered >= 0.95 * 300 - 3 * math.sqrt(300 * 0.95 * 0.05)
