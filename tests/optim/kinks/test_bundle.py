"""The rows of the model: which worst cases of a refused trial become one, and what asking for them costs."""

import torch
from torch import Tensor

from idbpd.optim import Problem
from idbpd.optim.counted_oracle import CountedOracle, counted
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.kinks.bundle import Bundle, RefusedTrial, bundle_at
from idbpd.optim.layout import flatten
from idbpd.optim.oracle import TermOracle
from idbpd.optim.problem import Function
from idbpd.optim.sets import Box


def one(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def looked(phi: Function, here: float, there: float) -> tuple[Bundle | None, CountedOracle]:
    """The bundle at ``here`` after a look at a trial ``there`` that the model with one row wanted."""
    oracle = counted(AutogradOracle(Problem(phi, Box(one(-1), one(1))), flatten(one(0))[1]))
    assert isinstance(oracle, TermOracle)
    evaluation, trial = (oracle.evaluate(x, oracle.start(x)) for x in (one(here), one(there)))
    gradients = oracle.differentiate(evaluation)
    known = bundle_at(evaluation, evaluation.f.reshape(1), gradients)
    d = trial.x - evaluation.x
    foreseen = (gradients.f @ d).reshape(1)
    missed = trial.f - evaluation.f - foreseen
    oracle.gradients = 0
    return known.grown(oracle, evaluation.x, RefusedTrial(trial.maximisers, d, known.values, foreseen, missed)), oracle


def test_a_worst_case_across_a_kink_becomes_a_row() -> None:
    bundle, oracle = looked(lambda x, y: y @ x, 0.5, -1.0)

    assert bundle is not None
    assert bundle.terms == (0, 0)
    assert [float(point) for point in bundle.points if point is not None] == [1, -1]
    assert bundle.values.tolist() == [0.5, -0.5]
    assert bundle.gradients.tolist() == [[1], [-1]]
    assert oracle.gradients == 1


def test_a_worst_case_that_has_moved_is_no_row_and_costs_no_gradient() -> None:
    bundle, oracle = looked(lambda x, y: y @ x - y @ y, 0.5, -1.0)  # y = x / 2

    assert bundle is None
    assert oracle.gradients == 0


def test_the_same_worst_case_is_no_second_row() -> None:
    bundle, oracle = looked(lambda x, y: y @ x + 3 * x @ x, 0.5, 0.1)

    assert bundle is None
    assert oracle.gradients == 0


def test_values_without_gradients_are_those_of_rows() -> None:
    oracle = counted(AutogradOracle(Problem(lambda x, y: y @ x.exp(), Box(one(-1), one(1))), flatten(one(0))[1]))
    assert isinstance(oracle, TermOracle)

    values = oracle.term_values(one(0.3), [0, 0], [one(0.2), one(-0.7)])

    assert oracle.gradients == 0
    assert oracle.evaluations == 0
    assert not values.requires_grad
    assert torch.equal(values, oracle.linearise(one(0.3), [0, 0], [one(0.2), one(-0.7)])[0])
    assert oracle.gradients == 2
