"""The limit of a task follows from what it reaches on its own, unless it is set by hand."""

import pytest

from idbpd.errors import ConfigurationError
from idbpd.experiment.thresholds import threshold_rule, thresholds_of
from tests.pipelines.small_tasks import CALIBRATION, small_tasks


def test_the_slack_is_a_share_of_the_value() -> None:
    rule = threshold_rule(small_tasks(2), CALIBRATION)
    assert rule.threshold("second", 0.5) == 0.5 * 1.1
    assert rule.threshold("second", -1e-17) == 0  # rounding, where nothing is lost
    assert not rule.by_hand


def test_a_reserve_is_a_share_of_the_slack_that_training_leaves_unused() -> None:
    rule = threshold_rule(small_tasks(2), CALIBRATION.model_copy(update={"reserve": 0.5}))
    assert rule.threshold("second", 0.5) == pytest.approx(0.5 * 1.05)
    assert rule.slack["second"] == 0.1  # on unseen data


def test_what_is_set_by_hand_goes_first() -> None:
    data = small_tasks(3)
    for_all = threshold_rule(data, CALIBRATION.model_copy(update={"threshold": 0.3}))
    assert [for_all.threshold(task, 0.5) for task in ("second", "third")] == [0.3, 0.3]
    for_one = threshold_rule(data, CALIBRATION.model_copy(update={"threshold": {"third": 0.3}}))
    assert [for_one.threshold(task, 0.5) for task in ("second", "third")] == [0.5 * 1.1, 0.3]
    with pytest.raises(ConfigurationError, match=r"names 'first'; the tasks that keep a limit are second, third"):
        threshold_rule(data, CALIBRATION.model_copy(update={"threshold": {"first": 0.3}}))


def test_the_saved_record_has_a_limit_for_each_task() -> None:
    record = {"threshold": [0.1, 0.2], "tasks": {"second": {"threshold": 0.1}, "third": {"threshold": 0.2}}}
    assert thresholds_of(record) == {"second": 0.1, "third": 0.2}
