"""The limit of a task in training follows from what is promised on unseen data."""

from dataclasses import replace

import pytest

from idbpd.errors import ConfigurationError
from idbpd.experiment.limits.thresholds import Promise, promises_of, thresholds_of
from idbpd.mtl import MultiTaskData
from tests.pipelines.small_tasks import CALIBRATION, small_tasks


def test_the_slack_is_a_share_of_the_value() -> None:
    promise = promises_of(small_tasks(2), CALIBRATION)["second"]
    assert promise == Promise(slack=0.1)
    assert promise.threshold(0.5, guess=1.0) == 0.5 * 1.1
    assert promise.threshold(-1e-17, guess=1.0) == 0  # rounding, where nothing is lost


def test_a_task_that_is_nearly_perfect_has_some_room() -> None:
    promise = promises_of(small_tasks(2), CALIBRATION.model_copy(update={"least_room": 0.01}))["second"]
    assert promise.threshold(0.5, guess=1.0) == pytest.approx(0.55)
    assert promise.threshold(0.002, guess=1.0) == pytest.approx(0.012)


def test_of_a_hard_task_half_of_what_was_learnt_must_stay() -> None:
    promise = Promise(slack=0.1, most_given_up=0.5)
    assert promise.relative(0.96, 1.0) == pytest.approx(0.98)  # 10 % more would be worse than a guess
    assert promise.relative(0.5, 1.0) == pytest.approx(0.55)  # 10 % more is less than half of the gain
    assert promise.relative(1.2, 1.0) == pytest.approx(1.2)  # nothing was learnt, so nothing can be given up


def test_there_is_a_least_room_however_hard_a_task_is() -> None:
    assert Promise(slack=0.1, most_given_up=0.5, least_room=0.01).relative(0.99, 1.0) == pytest.approx(1.0)


def test_no_limit_is_looser_than_a_guess() -> None:
    assert Promise(slack=0.1).threshold(0.98, guess=1.0) == 1.0
    assert Promise(slack=0.1).threshold(1.02, guess=1.0) == 1.02  # the task reaches no better on its own
    assert Promise(loss=3.0).threshold(0.5, guess=1.0) == 1.0


def test_a_reserve_moves_a_limit_towards_what_the_task_reaches_on_its_own() -> None:
    assert Promise(slack=0.1).threshold(0.5, 1.0, reserve=0.5) == pytest.approx(0.5 * 1.05)
    assert Promise(loss=0.6).threshold(0.5, 1.0, reserve=0.5) == pytest.approx(0.55)
    # From the loss of a guess, where the promise is not in the loss, in equal shares.
    assert Promise(measure="accuracy", level=0.9).threshold(0.25, 1.0, reserve=0.5) == pytest.approx(0.5)


def test_a_limit_that_no_model_keeps_is_not_changed_by_a_reserve() -> None:
    assert Promise(loss=0.4).threshold(0.5, 1.0, reserve=0.5) == 0.4


def test_what_is_set_by_hand_goes_first() -> None:
    data = small_tasks(3)
    for_all = promises_of(data, CALIBRATION.model_copy(update={"threshold": 0.3}))
    assert for_all == {"second": Promise(loss=0.3), "third": Promise(loss=0.3)}
    for_one = promises_of(data, CALIBRATION.model_copy(update={"threshold": {"third": 0.3}}))
    assert for_one == {"second": Promise(slack=0.1), "third": Promise(loss=0.3)}
    with pytest.raises(ConfigurationError, match=r"names 'first'; the tasks that keep a limit are second, third"):
        promises_of(data, CALIBRATION.model_copy(update={"threshold": {"first": 0.3}}))


@pytest.mark.parametrize(
    ("options", "promise"),
    [
        ({"slack": 0.2}, Promise(slack=0.2)),
        ({"limit": 0.6}, Promise(loss=0.6)),
        ({"limit": {"accuracy": 0.9}}, Promise(measure="accuracy", level=0.9)),
    ],
)
def test_the_options_of_a_task_count_before_those_for_all(options: dict[str, object], promise: Promise) -> None:
    data = small_tasks(2)
    first, second = data.tasks
    data = MultiTaskData(data.features, (first, replace(second, options=options)))
    assert promises_of(data, CALIBRATION.model_copy(update={"threshold": 0.3})) == {"second": promise}
    record = {"slack": promise.slack, "limit": promise.limit, "least_room": promise.least_room}
    assert Promise.of_record(record) == promise


def test_the_saved_record_has_a_limit_for_each_task() -> None:
    record = {"threshold": [0.1, 0.2], "tasks": {"second": {"threshold": 0.1}, "third": {"threshold": 0.2}}}
    assert thresholds_of(record) == {"second": 0.1, "third": 0.2}
