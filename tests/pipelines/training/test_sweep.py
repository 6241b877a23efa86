"""Which fixed weights are the best."""

import math

import pytest

from idbpd.errors import ConfigurationError
from idbpd.experiment.fixed_weights import task_weights
from idbpd.pipelines.training.parameters import ComparisonParameters
from idbpd.pipelines.training.sweep import Tried, choose
from idbpd.validation import validated
from tests.pipelines.small_tasks import small_tasks

GIVEN = {"sweep": [0.5], "margin": 0.3, "validation_fraction": 0.25, "max_steps": 5}


def _tried(loss: float, *excess: float) -> Tried:
    return Tried({}, {"first": loss}, {f"task {at}": value for at, value in enumerate(excess)}, "CONVERGED", 1)


def test_the_best_for_the_priority_task_among_those_that_keep_every_limit() -> None:
    tried = [_tried(0.1, -0.5, 0.4), _tried(0.3, 0.3, -0.1), _tried(0.2, 0.2, 0.1), _tried(math.nan, 0, 0)]
    assert choose(tried, "first", 0.3) is tried[2]
    assert choose(tried, "first", 0.4) is tried[0]


def test_where_none_keeps_every_limit_it_is_the_nearest() -> None:
    tried = [_tried(0.1, -0.5, 0.9), _tried(0.9, 0.8, 0.7), _tried(0.1, math.inf, -1)]
    assert choose(tried, "first", 0.3) is tried[1]
    assert choose([tried[2], tried[2]], "first", 0.3) is tried[2]


def test_weights_sum_to_the_number_of_tasks_as_equal_ones_do() -> None:
    assert task_weights(small_tasks(2), 0.5) == {"first": 1.0, "second": 1.0}
    assert task_weights(small_tasks(3), 0.8) == pytest.approx({"first": 2.4, "second": 0.3, "third": 0.3})


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [("0.9+0.1", [0.1, 0.9]), (0.25, [0.25]), ([], []), ("", []), (None, []), ("1e-1+2.5E-1", [0.1, 0.25])],
)
def test_the_weights_of_a_sweep_can_be_written_on_the_command_line(sweep: object, expected: list[float]) -> None:
    assert validated("comparison", ComparisonParameters, {**GIVEN, "sweep": sweep}).sweep == expected


@pytest.mark.parametrize("sweep", ["0.5+1", "0", "much"])
def test_a_weight_outside_of_zero_and_one_is_named(sweep: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"parameter 'comparison.sweep.[01]' = '.*' is not valid: input should"
    ):
        validated("comparison", ComparisonParameters, {**GIVEN, "sweep": sweep})
