"""Steps within few bounds, next to those within many: they are two ways to the same minimiser."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from idbpd.optim import IDBPD, Status, solve
from idbpd.optim.bounds import Bounds
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from idbpd.optim.quasi_newton.bounded_steps import BoundedSteps
from idbpd.optim.quasi_newton.few_bounds import FewBoundedSteps
from idbpd.optim.quasi_newton.known_metric import metric_to_begin_with
from idbpd.optim.quasi_newton.lbfgs import Metric, without_pairs

SIZE, BOUNDED = 8, 3


def _metric() -> Metric:
    """With three pairs, as they are learnt from a Hessian."""
    metric = without_pairs(torch.zeros(SIZE, dtype=torch.float64), 0.7)
    root = torch.randn(SIZE, SIZE, dtype=torch.float64)
    hessian, kept = root @ root.T + torch.eye(SIZE), torch.ones((), dtype=torch.bool)
    for s in torch.randn(3, SIZE, dtype=torch.float64):
        y = hessian @ s
        metric = metric.updated(s, y, s @ y, metric.scale, kept, memory=10)
    return metric


def _bounds(x: Tensor) -> Bounds:
    low, high = torch.full_like(x, -torch.inf), torch.full_like(x, torch.inf)
    low[-BOUNDED:], high[-BOUNDED:] = x[-BOUNDED:] - torch.tensor([0.0, 0.3, 0.1]), x[-BOUNDED:] + 0.2
    return Bounds(low, high)


def _weights(gram: Tensor, values: Tensor) -> Tensor:
    """Of one row of the objective, and of one equality that is kept."""
    assert gram.shape == (2, 2)
    assert len(values) == 2
    return torch.tensor([1.0, 0.3], dtype=torch.float64)


@pytest.mark.parametrize("seed", range(8))
def test_a_step_is_that_of_the_inverse_metric(seed: int) -> None:
    torch.manual_seed(seed)
    metric, x, gradients = _metric(), torch.randn(SIZE, dtype=torch.float64), torch.randn(2, SIZE, dtype=torch.float64)
    bounds, pressing, values = _bounds(x), gradients[0] + 0.3 * gradients[1], torch.tensor([0.0, 0.4]).double()
    many = BoundedSteps(x, bounds, metric, gradients, pressing)
    few = FewBoundedSteps(x, bounds, metric, gradients, metric.apply(gradients), pressing)
    held = 0
    for t in (1.0, 0.1, 1.0):
        expected, found = (steps.minimise(t, values, _weights) for steps in (many, few))
        assert torch.allclose(found.d, expected.d, atol=1e-10)
        assert torch.allclose(found.pull, expected.pull, atol=1e-8)
        assert torch.allclose(found.gram, expected.gram, atol=1e-8)
        assert torch.allclose(found.change, expected.change, atol=1e-10)
        assert found.bent == pytest.approx(expected.bent, abs=1e-8)
        there, likewise = few.moved(x, found), many.moved(x, expected)
        assert torch.allclose(there, likewise, atol=1e-10)
        assert torch.equal(_at(bounds, there), _at(bounds, likewise))
        held += int(_at(bounds, there).sum())
    assert held > 0


def _at(bounds: Bounds, x: Tensor) -> Tensor:
    return (x == bounds.low) | (x == bounds.high)


@dataclass(frozen=True)
class _Valley:
    """A distance in which the first four variables have very different curvatures, within bounds on the last two."""

    constraint_count: ClassVar[int] = 0
    curvature: Tensor
    bounds: Bounds
    is_known: bool = True

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, ())

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        none = torch.zeros(0, dtype=torch.float64)
        f = 0.5 * (self.curvature @ (x - 1).square())
        return Evaluation(x, f, none, Maximisers(None, ()), torch.zeros(1, dtype=torch.float64))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        x = evaluation.x
        return Gradients(self.curvature * (x - 1), x.new_zeros(0, len(x)))

    def initial_metric(self, x: Tensor) -> LayeredMetric | None:
        return LayeredMetric((LayerMetric(0, 2, 2, None, None, None),)) if self.is_known else None

    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> None:
        return None


def test_a_solve_with_a_metric_ends_at_the_bounds() -> None:
    x = torch.zeros(6, dtype=torch.float64)
    low = torch.tensor([-torch.inf] * 4 + [0.0, 2.0]).double()
    high = torch.tensor([torch.inf] * 4 + [0.5, 3.0]).double()
    curvature = torch.tensor([1.0, 10.0, 100.0, 1000.0, 1.0, 1.0]).double()
    oracle = _Valley(curvature, Bounds(low, high))
    assert metric_to_begin_with(oracle, x) is not None
    solution = solve(oracle, Bounds(low, high).project(x), IDBPD(), max_steps=200, tolerance=1e-9)
    assert solution.status is Status.CONVERGED
    assert isinstance(solution.x, Tensor)
    assert solution.x.tolist() == pytest.approx([1.0, 1.0, 1.0, 1.0, 0.5, 2.0], abs=1e-8)
    many = replace(oracle, bounds=Bounds(torch.zeros(200).double(), torch.ones(200).double()))
    assert metric_to_begin_with(many, x) is None
