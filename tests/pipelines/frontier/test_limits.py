"""The limits along a front."""

import pytest

from idbpd.pipelines.frontier.limits import limits_at

SHARED = {
    "value": 0.5,
    "guess": 1.0,
    "limit": None,
    "most_given_up": 1.0,
    "least_room": 0.01,
    "reserve": 0.0,
    "status": "CONVERGED",
}
RELATIVE = {**SHARED, "threshold": 0.5 * (1 + 0.1), "slack": 0.1}
BY_HAND = {**SHARED, "threshold": 0.9, "slack": None}


def test_a_limit_is_what_the_task_reaches_alone_times_one_plus_the_slack() -> None:
    found = limits_at({"threshold": 0.55, "slack": 0.1, "tasks": {"one": RELATIVE}, "made_with": {}}, 0.2)
    assert found["threshold"] == 0.5 * 1.2  # to the last digit, as a run with that slack has it
    assert found["slack"] == 0.2
    assert found["tasks"]["one"] == {**RELATIVE, "threshold": 0.5 * 1.2, "slack": 0.2}


def test_a_limit_set_by_hand_stays() -> None:
    found = limits_at({"threshold": [0.55, 0.9], "slack": 0.1, "tasks": {"one": RELATIVE, "two": BY_HAND}}, 0)
    assert found["threshold"] == [0.5 + 0.01, 0.9]
    assert found["tasks"]["two"] == BY_HAND


def test_what_calibration_kept_in_reserve_is_kept_at_every_point() -> None:
    reserved = {**RELATIVE, "reserve": 0.25}
    assert limits_at({"tasks": {"one": reserved}}, 0.4)["threshold"] == pytest.approx(0.5 * (1 + 0.4 * 0.75))
