import math

import pytest
import torch

from idbpd.errors import DataError
from idbpd.mtl.bounds import empirical_bernstein_upper


def test_it_is_the_formula_of_the_theorem() -> None:
    values = torch.tensor([0.0, 1.0] * 500)
    logarithm = math.log(2 / 0.05)
    variance = 0.25 * 1000 / 999
    expected = 0.5 + math.sqrt(2 * variance * logarithm / 1000) + 7 * logarithm / (3 * 999)
    assert empirical_bernstein_upper(values, 0.0, 1.0).item() == pytest.approx(expected)


def test_it_covers_the_mean_of_rare_large_values() -> None:
    values = (torch.rand(2000, 200) < 0.02).double()
    covered = (empirical_bernstein_upper(values, 0.0, 1.0, 0.9) >= 0.02).double().mean().item()
    assert covered >= 0.9


def test_it_follows_scale_and_shift_and_grows_with_confidence() -> None:
    values = torch.rand(100, dtype=torch.float64)
    bound = empirical_bernstein_upper(values, 0.0, 1.0, 0.9).item()
    assert empirical_bernstein_upper(3 * values + 2, 2.0, 5.0, 0.9).item() == pytest.approx(3 * bound + 2)
    assert bound < empirical_bernstein_upper(values, 0.0, 1.0, 0.99).item()


def test_it_never_exceeds_what_is_possible() -> None:
    assert empirical_bernstein_upper(torch.tensor([0.2, 0.9]), 0.0, 1.0).item() == 1.0


def test_input_without_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match=r"values must be from 0 to 1, got 0\.5 to 1\.5"):
        empirical_bernstein_upper(torch.tensor([0.5, 1.5]), 0.0, 1.0)
    with pytest.raises(ValueError, match="values must be from 0 to 1, got nan to nan"):
        empirical_bernstein_upper(torch.tensor([0.5, math.nan]), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"low must be at most high, got 1\.0 and 0\.0"):
        empirical_bernstein_upper(torch.tensor([0.5, 0.5]), 1.0, 0.0)
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, got 1"):
        empirical_bernstein_upper(torch.tensor([0.5, 0.5]), 0.0, 1.0, 1)
    with pytest.raises(DataError, match="a bound needs at least 2 test samples, got 1"):
        empirical_bernstein_upper(torch.tensor([0.5]), 0.0, 1.0)
