import pytest
import torch

from idbpd.mtl.bounds import studentised
from idbpd.mtl.bounds.studentised import studentised_upper


def test_one_bound_is_re_derived_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studentised, "LEAST_RESAMPLES", 60)
    monkeypatch.setattr(studentised, "DRAWS_BEYOND", 0)
    values = torch.tensor([1.0, 2.0, 4.0, 9.0], dtype=torch.float64)
    # The mean is 4, the farthest value 5 above it; one more at 9 moves the mean to 5.
    more = torch.tensor([1.0, 2.0, 4.0, 9.0, 9.0], dtype=torch.float64)
    draws = torch.randint(5, (5, 60), generator=torch.Generator().manual_seed(3))
    ratios = []
    for draw in draws.T:
        drawn = more[draw]
        spread = max(drawn.std(correction=0).item(), 1e-300)
        ratios.append(max((drawn.mean().item() - 5.0) / spread, -1e12))
    expected = 5.0 - sorted(ratios)[5] * more.std(correction=0).item()  # position 0.1 * 59, rounded down
    assert studentised_upper(values, confidence=0.9, seed=3).item() == pytest.approx(expected, rel=1e-9)


def test_rows_are_bounded_one_by_one() -> None:
    values = torch.rand(3, 4, 25, dtype=torch.float64)
    bounds = studentised_upper(values, confidence=0.95)
    for i in range(3):
        for j in range(4):
            assert bounds[i, j].item() == pytest.approx(studentised_upper(values[i, j], confidence=0.95).item())


def test_it_grows_with_confidence_and_with_the_one_value_more() -> None:
    values = torch.empty(60, dtype=torch.float64).exponential_()
    bounds = [studentised_upper(values, confidence=c).item() for c in (0.5, 0.8, 0.9, 0.95, 0.99)]
    assert bounds == sorted(bounds)
    assert bounds[0] > values.mean()
    assert studentised_upper(values, confidence=0.95, one_more=False) < bounds[3]


def test_it_follows_scale_and_shift() -> None:
    values = torch.empty(60, dtype=torch.float64).exponential_()
    bound = studentised_upper(values, confidence=0.95).item()
    for scale in (1e-8, 1e8):
        assert studentised_upper(scale * values, confidence=0.95).item() == pytest.approx(scale * bound)
    assert studentised_upper(values + 5, confidence=0.95).item() == pytest.approx(bound + 5)


def test_a_very_lucky_value_makes_the_bound_larger() -> None:
    values = torch.rand(50, dtype=torch.float64)
    lucky = values.clone()
    lucky[0] = -40.0
    assert studentised_upper(lucky, confidence=0.95) > studentised_upper(values, confidence=0.95)


def test_equal_values_leave_nothing_to_chance() -> None:
    assert studentised_upper(torch.full((20,), 0.7, dtype=torch.float64), confidence=0.95).item() == pytest.approx(0.7)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, float("nan")])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match=f"confidence must be between 0 and 1, got {confidence}"):
        studentised_upper(torch.rand(5), confidence=confidence)
