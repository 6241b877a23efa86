"""The problem in weights and levels: its L + 1 constraints, their gradients, and small problems solved with them."""

import pytest
import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from idbpd.energy import EnergyConstrained, EnergyModel, Hardware, energy_used, layers_of, levels
from idbpd.errors import ConfigurationError
from idbpd.optim import Status, solve
from idbpd.optim.oracle import AscentSteps, Evaluation, Gradients, Maximisers
from tests.energy.networks import convolutions, perceptron

WIDTH = 0.2


class Squares:
    """min ||w - target||^2 subject to w_0 <= limit: a problem in the weights alone."""

    constraint_count = 1

    def __init__(self, target: Tensor, limit: float = 10.0) -> None:
        self._target, self._limit = target, limit

    def start(self, x: Tensor) -> Maximisers:
        return Maximisers(None, (None,))

    def evaluate(self, x: Tensor, warm: Maximisers, steps: AscentSteps | None = None) -> Evaluation:
        f, g = (x - self._target).square().sum().double(), (x[:1] - self._limit).double()
        return Evaluation(x, f, g, Maximisers(None, (None,)), torch.zeros(2, dtype=torch.float64))

    def differentiate(self, evaluation: Evaluation) -> Gradients:
        g = torch.zeros(1, len(evaluation.x), dtype=evaluation.x.dtype)
        g[0, 0] = 1.0
        return Gradients(2 * (evaluation.x - self._target), g)


@pytest.fixture
def model() -> EnergyModel:
    return EnergyModel(layers_of(convolutions(), torch.zeros(64)), Hardware())


def _oracle(model: EnergyModel, share: float = 0.5, width: float = WIDTH) -> tuple[EnergyConstrained, Tensor]:
    target = parameters_to_vector(convolutions().parameters()).detach().double()
    return EnergyConstrained(Squares(target), model, model.budget(share), width, target), target


def test_there_are_l_plus_one_constraints_beside_those_of_the_other_problem(model: EnergyModel) -> None:
    oracle, weights = _oracle(model)
    x = torch.cat([weights, torch.full((4,), 0.3, dtype=torch.float64)])
    found = oracle.evaluate(x, oracle.start(x))
    assert oracle.constraint_count == len(found.g) == 1 + 4 + 1
    assert found.maximisers.w[-1] is not None


def test_all_gradients_are_those_of_differences(model: EnergyModel) -> None:
    oracle, weights = _oracle(model)
    x = torch.cat([weights, torch.tensor([0.2, 0.5, 0.3, 0.9], dtype=torch.float64)])
    warm = oracle.start(x)
    gradients = oracle.differentiate(oracle.evaluate(x, warm))
    direction = torch.randn_like(x)
    step = 1e-6 * direction
    high, low = oracle.evaluate(x + step, warm), oracle.evaluate(x - step, warm)
    assert (high.f - low.f).item() / 2e-6 == pytest.approx((gradients.f @ direction).item(), rel=1e-6)
    expected = gradients.g @ direction
    assert ((high.g - low.g) / 2e-6).tolist() == pytest.approx(expected.tolist(), rel=1e-5, abs=1e-7)


def test_a_gradient_of_an_earlier_evaluation_is_still_right(model: EnergyModel) -> None:
    oracle, weights = _oracle(model)
    x = torch.cat([weights, torch.full((4,), 0.3, dtype=torch.float64)])
    first = oracle.evaluate(x, oracle.start(x))
    expected = oracle.differentiate(first)
    oracle.evaluate(x + 1, oracle.start(x))
    again = oracle.differentiate(first)
    assert torch.equal(again.f, expected.f)
    assert torch.equal(again.g, expected.g)


def test_the_last_constraint_is_zero_where_the_energy_is_the_budget(model: EnergyModel) -> None:
    oracle, weights = _oracle(model, share=0.4)
    x = torch.cat([weights, model.start(model.budget(0.4))])
    assert oracle.evaluate(x, oracle.start(x)).g[-1].item() == pytest.approx(0, abs=1e-9)


def test_a_solution_has_multipliers_that_say_one_price_for_all_layers() -> None:
    """At a KKT point every layer between its bounds pays the price of the energy."""
    model = EnergyModel(layers_of(perceptron(), torch.zeros(6)), Hardware())
    target = torch.linspace(-1.0, 1.0, 47, dtype=torch.float64)
    budget = model.budget(0.4)
    oracle = EnergyConstrained(Squares(target, limit=-0.5), model, budget, WIDTH, target)
    start = torch.cat([0.1 * target, model.start(budget)])
    solution = solve(oracle, start, max_steps=500, tolerance=1e-6)
    assert solution.status is Status.CONVERGED
    _, *of_layers, of_energy = solution.multipliers.tolist()
    assert len(solution.multipliers) == 1 + 2 + 1
    worst = solution.w[-1]
    assert worst is not None
    nominal = torch.tensor(model.hardware.costs, dtype=torch.float64)
    ratios = (model.of_weight @ worst) / (model.of_weight @ nominal)
    assert of_energy > 0.01
    assert of_layers == pytest.approx((of_energy * ratios).tolist(), rel=1e-3)
    assert isinstance(solution.x, Tensor)
    assert energy_used(model, solution.x[:47], WIDTH) <= budget * (1 + 1e-5)


def test_a_limit_of_the_other_problem_is_kept_as_well() -> None:
    model = EnergyModel(layers_of(perceptron(), torch.zeros(6)), Hardware())
    target = torch.linspace(1.0, -1.0, 47, dtype=torch.float64)
    oracle = EnergyConstrained(Squares(target, limit=0.3), model, model.budget(0.5), WIDTH, target)
    start = torch.cat([0.1 * target, model.start(model.budget(0.5))])
    solution = solve(oracle, start, max_steps=500, tolerance=1e-6)
    assert solution.status is Status.CONVERGED
    assert isinstance(solution.x, Tensor)
    assert solution.x[0].item() == pytest.approx(0.3, abs=1e-5)
    assert solution.multipliers[0].item() > 0.1


def test_the_largest_weights_stay_where_the_loss_asks_for_all_of_them() -> None:
    """Along the way to a sharp measure, the answer becomes the best of a given number of weights."""
    model = EnergyModel(layers_of(perceptron(), torch.zeros(6)), Hardware())
    target = torch.rand(47, dtype=torch.float64) + 0.2
    budget = model.budget(0.4)
    x = torch.cat([target, model.start(budget)])
    for width in (2.0, 0.6, 0.2, 0.06, 0.02):
        oracle = EnergyConstrained(Squares(target), model, budget, width, target)
        solution = solve(oracle, x, max_steps=300, tolerance=1e-4)
        assert isinstance(solution.x, Tensor)
        x = solution.x
    kept = x[:47].abs() > 0.1
    number = sum(levels(model, x[47:], budget))
    assert int(kept.sum()) == pytest.approx(number, abs=1)
    assert (target[kept] > target[~kept].max() - 0.2).all()


def test_a_budget_below_one_weight_per_layer_says_what_can_be_reached(model: EnergyModel) -> None:
    smallest = model.smallest_share
    with pytest.raises(ConfigurationError, match=f"the smallest budget that this network can reach is {smallest:.3g}"):
        model.budget(0.9 * smallest)
    assert model.budget(smallest) == pytest.approx(smallest * model.dense)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01])
def test_a_budget_that_is_no_share_is_refused(model: EnergyModel, share: float) -> None:
    with pytest.raises(ConfigurationError, match=r"'energy.budget' = .* above 0 and at most 1"):
        model.budget(share)


def test_the_start_uses_the_budget_and_leaves_one_weight_to_each_layer(model: EnergyModel) -> None:
    for share in (1.0, 0.3, 1.1 * model.smallest_share):
        numbers = model.start(model.budget(share)) * model.sizes
        assert model.worst_energy(numbers) == pytest.approx(share * model.dense, rel=1e-6)
        assert (numbers >= 1 - 1e-9).all()
