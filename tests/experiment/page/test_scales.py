"""Axes have a place for every number, and round numbers along them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idbpd.experiment.page.scales import Scale, linear, logarithmic

FINITE = st.floats(-1e6, 1e6)


@given(st.lists(FINITE, min_size=1, max_size=5))
def test_every_value_is_inside_and_ticks_are_few_and_increase(values: list[float]) -> None:
    scale = linear(values, 10, 110)
    assert all(10 <= scale.at(value) <= 110 for value in values)
    ticks = scale.ticks()
    assert len(ticks) <= 8
    assert ticks == sorted(ticks)
    assert all(scale.low - 1e-6 * abs(scale.low) <= tick <= scale.high + 1e-6 * abs(scale.high) for tick in ticks)


@pytest.mark.parametrize("values", [[], [0.0], [1e-30], [1e-12, 1e3], [math.nan, math.inf, 5.0]])
def test_a_logarithmic_axis_exists_for_whatever_values(values: list[float]) -> None:
    scale = logarithmic(values, 100, 0)
    assert 0 < scale.low < scale.high
    assert 2 <= len(scale.ticks()) <= 8
    assert scale.at(0.0) == 100


def test_round_numbers() -> None:
    assert Scale(0.0, 1.0, 0, 1).ticks() == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert Scale(-0.3, 0.3, 0, 1).ticks(3) == [-0.2, 0.0, 0.2]
    assert Scale(0.5, 60.0, 0, 1, "log").ticks() == [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    assert Scale(1e-8, 1.0, 0, 1, "log").ticks(4) == [1e-8, 1e-6, 1e-4, 1e-2, 1.0]
