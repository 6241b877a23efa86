"""The metric under a budget: that of the other problem, made shorter where a measure bends."""

import pytest
import torch
from torch import Tensor

from idbpd.energy import EnergyConstrained, EnergyModel, Hardware, layers_of
from idbpd.energy.sparsity import bend, slope
from idbpd.energy.stretched_metric import StretchedMetric
from idbpd.optim import Status, solve
from idbpd.optim.initial_metric import LayeredMetric, LayerMetric
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from tests.energy.networks import perceptron

WIDTH, SIZE, SPREAD = 0.2, 47, 300.0
TARGET = torch.linspace(-1.0, 1.0, SIZE, dtype=torch.float64)
CURVATURES = torch.ones(SIZE, dtype=torch.float64).index_fill(0, torch.arange(30), SPREAD)


class Valley:
    """A distance in which the weights of the first layer count 300 times as much. It may know that."""

    constraint_count = 0

    def __init__(self, *, is_known: bool) -> None:
        self._is_known = is_known

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, ())

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        none = torch.zeros(0, dtype=torch.float64)
        f = 0.5 * (CURVATURES @ (x - TARGET).square())
        return Evaluation(x, f, none, Maximisers(None, ()), torch.zeros(1, dtype=torch.float64))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        return Gradients(CURVATURES * (evaluation.x - TARGET), evaluation.x.new_zeros(0, SIZE))

    def initial_metric(self, x: Tensor) -> LayeredMetric | None:
        right = torch.full((6,), 1 / SPREAD, dtype=x.dtype)
        return LayeredMetric((LayerMetric(0, 5, 6, None, right),)) if self._is_known else None

    def metric_at(self, evaluation: Evaluation, multipliers: Tensor) -> LayeredMetric | None:
        assert len(multipliers) == 0
        return self.initial_metric(evaluation.x)


@pytest.fixture
def model() -> EnergyModel:
    return EnergyModel(layers_of(perceptron(), torch.zeros(6)), Hardware())


def _oracle(model: EnergyModel, *, is_known: bool, around: Tensor | None = None) -> EnergyConstrained:
    return EnergyConstrained(Valley(is_known=is_known), model, model.budget(0.4), WIDTH, TARGET, around)


def test_a_bend_is_the_derivative_of_the_slope() -> None:
    weights = torch.linspace(-1.0, 1.0, 21, dtype=torch.float64)
    change = slope(weights + 1e-6, WIDTH) - slope(weights - 1e-6, WIDTH)
    assert torch.allclose(bend(weights, WIDTH), change / 2e-6, rtol=1e-6, atol=1e-6)


def test_on_a_diagonal_metric_it_is_the_inverse_of_both_curvatures(model: EnergyModel) -> None:
    x = torch.cat([TARGET, model.start(model.budget(0.4))])
    around = torch.tensor([0.3, 0.2, 0.5], dtype=torch.float64)
    metric = _oracle(model, is_known=True, around=around).initial_metric(x)
    assert isinstance(metric, StretchedMetric)
    prices = model.of_weight @ torch.tensor(model.hardware.costs, dtype=torch.float64) / model.budget(0.4)
    bends = torch.zeros_like(TARGET)
    for layer, price, multiplier in zip(model.layers, prices, around, strict=False):
        bends[layer.places] = (multiplier * price) * bend(TARGET[layer.places], WIDTH).abs()
    expected = torch.cat([1 / (CURVATURES + bends), torch.ones(2)])
    assert torch.allclose(metric.apply(torch.eye(len(x), dtype=torch.float64)), torch.diag(expected))
    assert torch.allclose(metric.diagonal(x), expected)


def test_a_problem_that_knows_nothing_has_the_identity(model: EnergyModel) -> None:
    x = torch.cat([TARGET, model.start(model.budget(0.4))])
    assert _oracle(model, is_known=False).initial_metric(x) is None


def test_a_solve_that_knows_ends_at_the_same_prices(model: EnergyModel) -> None:
    """The points may differ in small weights of the second layer: the problem is not convex."""
    start = torch.cat([0.1 * TARGET, model.start(model.budget(0.4))])
    known, unknown = (
        solve(_oracle(model, is_known=is_known), start, max_steps=500, tolerance=1e-5) for is_known in (True, False)
    )
    assert known.status is unknown.status is Status.CONVERGED
    assert known.multipliers[[0, 2]].tolist() == pytest.approx(unknown.multipliers[[0, 2]].tolist(), rel=1e-4)
