"""The energy of a network as it is, added up by hand, and next to the model that the solver works with."""

import math

import pytest
import torch
from torch import nn

from idbpd.energy import EnergyModel, Hardware, layers_of, narrowed, silenced, verified_energy
from tests.energy.networks import convolutions


@torch.no_grad()
def test_one_layer_by_hand() -> None:
    layer = nn.Linear(3, 2)
    layer.weight.copy_(torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]))
    layer.bias.copy_(torch.tensor([0.0, 1.0]))
    found = verified_energy(nn.Sequential(layer), torch.zeros(3), Hardware(radius=0.3))
    # Four weights: a word from outside each, a multiplication and an addition, two reads; five activations moved.
    energies = [4 * 3.7, 4 * 0.9, (2 * 4 + 5) * 5.0, 4 * 640.0]
    assert found.nominal == pytest.approx(sum(energies))
    assert found.worst == pytest.approx(sum(energies) + 0.3 * math.hypot(*energies))
    assert found.nonzero == {"0": 4}
    assert found.worst_costs["off_chip"] == pytest.approx(640 * (1 + 0.3 * energies[3] / math.hypot(*energies)))


@torch.no_grad()
@pytest.mark.parametrize("hardware", [Hardware(), Hardware(shape="box", radius=0.5), Hardware(radius=0.0)])
def test_it_agrees_with_the_model_of_the_solver(hardware: Hardware) -> None:
    network = convolutions()
    for tensor in network.parameters():
        tensor.mul_(torch.rand_like(tensor) < 0.3)
    model = EnergyModel(layers_of(network, torch.zeros(64)), hardware)
    found = verified_energy(network, torch.zeros(64), hardware)
    numbers = torch.tensor(list(found.nonzero.values()))
    assert found.worst == pytest.approx(model.worst_energy(numbers), rel=1e-12)
    worst = hardware.worst(model.counts(numbers))
    assert list(found.worst_costs.values()) == pytest.approx(worst.tolist(), rel=1e-12)


@torch.no_grad()
def test_without_dead_units_a_network_needs_less() -> None:
    network, samples = convolutions(), torch.randn(4, 64)
    network.get_parameter("9.weight")[:, 0] = 0.0
    small = narrowed(silenced(network, samples), samples)
    energies = [verified_energy(one, samples[0], Hardware()).worst for one in (network, small)]
    assert energies[1] < energies[0]


@torch.no_grad()
def test_a_network_with_all_weights_is_within_the_whole_budget() -> None:
    """Both numbers are sums in different orders."""
    network = convolutions()
    model = EnergyModel(layers_of(network, torch.zeros(64)), Hardware())
    found = verified_energy(network, torch.zeros(64), Hardware())
    assert found.is_within(model.budget(1.0))
    assert not found.is_within(0.999999 * model.dense)
