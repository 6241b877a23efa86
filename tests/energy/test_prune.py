"""Which weights stay: the largest of each layer, as many as the budget allows."""

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from idbpd.energy import EnergyModel, Hardware, largest, layers_of, levels, only
from tests.energy.networks import convolutions


@pytest.fixture
def model() -> EnergyModel:
    return EnergyModel(layers_of(convolutions(), torch.zeros(64)), Hardware())


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.05])
def test_the_levels_are_within_the_budget_and_use_it(model: EnergyModel, share: float) -> None:
    budget = model.budget(share)
    kept = torch.tensor(levels(model, model.start(budget), budget), dtype=torch.float64)
    energy = model.worst_energy(kept)
    assert energy <= budget
    one_more = model.hardware.worst_energy(model.of_weight.sum(0)).item()
    assert energy >= budget - one_more
    assert (kept >= 1).all()


def test_with_the_whole_budget_nothing_is_pruned(model: EnergyModel) -> None:
    shares = torch.full((4,), 0.3)  # the solver had no reason to raise them
    assert levels(model, shares, model.budget(1.0)) == model.sizes.int().tolist()


def test_the_largest_weights_of_each_layer_stay(model: EnergyModel) -> None:
    x = parameters_to_vector(convolutions().parameters()).detach()
    kept = [3, 10, 20, 5]
    pruned = only(x, largest(model, x, kept))
    for layer, number in zip(model.layers, kept, strict=True):
        before, after = x[layer.places].abs(), pruned[layer.places]
        assert int((after != 0).sum()) == number
        assert before[after != 0].min() >= before[after == 0].max()
        assert torch.equal(after[after != 0], x[layer.places][after != 0])
