"""A problem in some of its variables."""

from pathlib import Path

import pytest
import torch

from idbpd.optim import IDBPD, Constraint, Oracle, Problem, Status, solve
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric
from idbpd.optim.inner.autograd_oracle import AutogradOracle
from idbpd.optim.layout import flatten
from idbpd.optim.oracle import Evaluation
from idbpd.optim.restricted_oracle import RestrictedOracle
from idbpd.optim.state_file import load_state, save_state

CENTRE = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
CURVATURE = torch.tensor([1.0, 1.0, 3.0, 1.0], dtype=torch.float64)
X = torch.tensor([9.0, -1.0, 9.0, 5.0], dtype=torch.float64)
PLACES = torch.tensor([0, 2])


def _problem() -> Problem:
    """A weighted distance to a centre, with a sum of three variables at most 2."""
    return Problem(
        objective=lambda x: CURVATURE @ (x - CENTRE) ** 2, constraints=[Constraint(lambda x: x[0] + x[1] + x[2] - 2)]
    )


def _oracle() -> Oracle:
    return AutogradOracle(_problem(), flatten(X)[1])


def test_values_and_gradients_are_those_of_the_whole_problem() -> None:
    whole = _oracle()
    restricted = RestrictedOracle(_oracle(), X, PLACES)
    for values in ([0.5, 0.25], [9.0, 9.0]):
        x = torch.tensor(values, dtype=torch.float64)
        full = torch.tensor([values[0], -1.0, values[1], 5.0], dtype=torch.float64)
        expected, found = whole.evaluate(full, whole.start(full)), restricted.evaluate(x, restricted.start(x))
        assert found.x is x
        assert torch.equal(found.f, expected.f)
        assert torch.equal(found.g, expected.g)
        gradients, of_places = whole.differentiate(expected), restricted.differentiate(found)
        assert torch.equal(of_places.f, gradients.f[PLACES])
        assert torch.equal(of_places.g, gradients.g[:, PLACES])
        # Asked again after another point was looked at, the answer is the same.
        restricted.evaluate(2 * x, restricted.start(x))
        assert torch.equal(restricted.differentiate(found).f, of_places.f)


def test_the_solution_leaves_the_other_variables_where_they_are() -> None:
    restricted = RestrictedOracle(_oracle(), X, PLACES)
    solution = solve(restricted, {"own": X[PLACES]}, IDBPD(), max_steps=200, tolerance=1e-6)
    assert solution.status is Status.CONVERGED
    assert isinstance(solution.x, dict)
    # On x0 + x2 = 3 the nearest to (1, 3) is (0.25, 2.75): 2 (1 - 0.25) = 6 (3 - 2.75), which is the multiplier.
    assert restricted.whole(solution.x["own"]).tolist() == pytest.approx([0.25, -1.0, 2.75, 5.0], abs=1e-6)
    assert solution.multipliers.tolist() == pytest.approx([1.5], abs=1e-6)
    assert X.tolist() == [9.0, -1.0, 9.0, 5.0]


class _Informed(AutogradOracle):  # type: ignore[misc]  # final, but whatever stands around it hides what it can do
    """It knows its curvature, which couples the variables in pairs."""

    def initial_metric(self, x: torch.Tensor) -> LayeredMetric:
        right = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=x.dtype)
        return LayeredMetric((LayerMetric(0, 2, 2, None, right),))

    def metric_at(self, evaluation: Evaluation, multipliers: torch.Tensor) -> LayeredMetric:
        assert len(evaluation.x) == len(X)
        assert len(multipliers) == 1
        return self.initial_metric(evaluation.x)


def test_the_metric_is_that_of_the_whole_problem_between_the_places() -> None:
    whole = _Informed(_problem(), flatten(X)[1])
    metric = whole.initial_metric(X)
    full = metric.apply(torch.eye(4, dtype=torch.float64))
    for places in ([0, 1], [0, 2], [1]):
        at = torch.tensor(places)
        restricted = RestrictedOracle(whole, X, at, preconditioner=True)
        found = restricted.initial_metric(X[at])
        assert found is not None
        assert torch.equal(found.apply(torch.eye(len(places), dtype=torch.float64)), full[at][:, at])


def test_a_solve_with_the_metric_goes_on_from_a_file_to_the_same_point(tmp_path: Path) -> None:
    whole = _Informed(_problem(), flatten(X)[1])
    plain, informed = (RestrictedOracle(whole, X, PLACES, preconditioner=known) for known in (False, True))
    assert plain.initial_metric(X[PLACES]) is None
    expected = solve(plain, X[PLACES], IDBPD(), max_steps=200, tolerance=1e-9)
    state = solve(informed, X[PLACES], IDBPD(), max_steps=2, tolerance=1e-9).state
    save_state(state, tmp_path / "state")
    found = solve(informed, X[PLACES], IDBPD(), max_steps=200, tolerance=1e-9, state=load_state(tmp_path / "state"))
    assert isinstance(found.x, torch.Tensor)
    assert isinstance(expected.x, torch.Tensor)
    assert torch.allclose(found.x, expected.x, atol=1e-7)
