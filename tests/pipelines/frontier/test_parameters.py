"""What can be asked of a frontier, and what is refused in one line."""

import pytest

from idbpd.errors import ConfigurationError
from idbpd.pipelines.frontier.parameters import FrontierParameters
from idbpd.validation import validated

GIVEN = {"slacks": [0.1], "priorities": "own", "weights": [0.5], "residual_limit": 1e-2}


def _frontier(**changed: object) -> FrontierParameters:
    made = validated("frontier", FrontierParameters, {**GIVEN, **changed})
    assert isinstance(made, FrontierParameters)
    return made


def test_lists_can_be_written_on_the_command_line() -> None:
    found = _frontier(slacks="0.5+0+0.05+0.5", priorities="income+hours", weights="")
    assert found.slacks == [0, 0.05, 0.5]
    assert found.priorities == ["income", "hours"]
    assert found.weights == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"slacks": []}, r"'frontier.slacks' = \[\] is not valid: name at least one slack"),
        ({"slacks": ""}, r"'frontier.slacks' = '' is not valid: name at least one slack"),
        ({"slacks": "0.1+-0.2"}, r"frontier.slacks.* -0.2 is below 0: a task cannot be asked"),
        ({"slacks": "0.1+much"}, r"frontier.slacks.1' = 'much' is not valid"),
        ({"slacks": [float("inf")]}, r"frontier.slacks.0' = inf is not valid"),
        ({"priorities": None}, r"frontier.priorities' = None is not valid: choose own, all, or names of tasks"),
        ({"weights": "0.5+1"}, r"frontier.weights.1' = '1' is not valid"),
        ({"residual_limit": 0}, r"frontier.residual_limit' = 0 is not valid"),
        ({"slack": 0.1}, r"unknown parameter 'frontier.slack'; did you mean 'frontier.slacks'"),
    ],
)
def test_what_means_nothing_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _frontier(**changed)
