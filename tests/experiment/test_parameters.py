"""The blocks of parameters."""

import pickle

from idbpd.experiment.parameters import MethodsParameters


def test_the_options_of_methods_reach_other_processes() -> None:
    given = MethodsParameters(cooper_adam={"primal_rate": 0.5})
    assert pickle.loads(pickle.dumps(given)) == given
    assert pickle.loads(pickle.dumps(given.cooper_adam)).primal_rate == 0.5
