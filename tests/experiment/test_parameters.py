"""The blocks of parameters."""

import pickle

import pytest

from idbpd.experiment.method_parameters import MethodsParameters
from idbpd.experiment.parameters import SplitParameters


def test_the_options_of_methods_reach_other_processes() -> None:
    given = MethodsParameters(cooper_adam={"primal_rate": 0.5})
    assert pickle.loads(pickle.dumps(given)) == given
    assert pickle.loads(pickle.dumps(given.cooper_adam)).primal_rate == 0.5


@pytest.mark.parametrize(
    ("given", "expected"),
    [("rain+snow", ["rain", "snow"]), ("0+3", ["0", "3"]), (3, [3]), ("rain", ["rain"]), ([0, "snow"], [0, "snow"])],
)
def test_the_labels_of_a_task_can_be_written_on_the_command_line(given: object, expected: list[object]) -> None:
    split = SplitParameters.model_validate({"tasks": {"weather": given}, "test_fraction": 0, "seed": 0})
    assert split.tasks == {"weather": expected}
