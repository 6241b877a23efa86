"""Dead units: what is silenced and removed, and that no answer changes."""

import pytest
import torch
from torch import Tensor, nn

from idbpd.energy import narrowed, silenced
from idbpd.energy.connections import readers
from idbpd.mtl import SharedNetwork
from tests.energy.networks import convolutions, perceptron


def _linear(network: nn.Module, at: int) -> nn.Linear:
    layer = network.get_submodule(str(at))
    assert isinstance(layer, nn.Linear)
    return layer


def _convolution(network: nn.Module, at: int) -> nn.Conv2d:
    layer = network.get_submodule(str(at))
    assert isinstance(layer, nn.Conv2d)
    return layer


def test_the_readers_of_a_layer_are_found_through_what_treats_units_one_by_one() -> None:
    assert readers(convolutions()) == {"1": ["4"], "4": ["7"], "7": ["9"]}
    assert readers(SharedNetwork(4, 3, [2, 2])) == {"trunk": ["heads.task.0", "heads.task.1"]}


@torch.no_grad()
def test_a_unit_that_nothing_reads_is_removed_with_its_weights() -> None:
    network, samples = perceptron(), torch.randn(8, 6)
    _linear(network, 2).weight[:, [1, 3]] = 0.0
    expected = network(samples)
    small = narrowed(silenced(network, samples), samples)
    assert _linear(small, 0).weight.shape == (3, 6)
    assert _linear(small, 2).weight.shape == (2, 3)
    assert torch.allclose(small(samples), expected, atol=1e-6)


@torch.no_grad()
def test_a_unit_that_is_the_same_for_all_samples_goes_into_the_offsets_of_its_readers() -> None:
    network, samples = perceptron(), torch.randn(8, 6)
    _linear(network, 0).weight[2] = 0.0
    expected, before = network(samples), _linear(network, 2).bias.clone()
    small = narrowed(silenced(network, samples), samples)
    assert _linear(small, 0).out_features == 4
    assert not torch.equal(_linear(small, 2).bias, before)
    assert torch.allclose(small(samples), expected, atol=1e-6)


@torch.no_grad()
def test_what_leads_to_dead_units_alone_is_dead_too() -> None:
    network, samples = convolutions(), torch.randn(8, 64)
    _linear(network, 9).weight[:, 0] = 0.0  # so unit 0 of the hidden layer is dead,
    hidden = _linear(network, 7)
    hidden.weight[1:, :4] = 0.0  # which alone reads the first channel of the second convolution (2 x 2),
    _convolution(network, 4).weight[1:, 2] = 0.0  # which alone reads channel 2 of the first one
    expected = network(samples)
    small = narrowed(silenced(network, samples), samples)
    assert _convolution(small, 1).weight.shape == (3, 1, 3, 3)
    assert _convolution(small, 4).weight.shape == (5, 3, 3, 3)
    assert _linear(small, 7).weight.shape == (4, 20)
    assert _linear(small, 9).weight.shape == (3, 4)
    assert torch.allclose(small(samples), expected, atol=1e-5)


@torch.no_grad()
def test_a_constant_channel_before_a_convolution_with_a_border_stays() -> None:
    """At the border it counts less than inside, and one offset cannot say both."""
    network = nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 1), nn.Tanh(), nn.Conv2d(2, 1, 3, padding=1), nn.Flatten()
    )
    samples = torch.randn(3, 16)
    _convolution(network, 1).weight[0] = 0.0
    expected = network(samples)
    small = narrowed(silenced(network, samples), samples)
    assert _convolution(small, 1).out_channels == 2
    assert torch.allclose(small(samples), expected)


@torch.no_grad()
def test_a_network_whose_code_states_a_width_keeps_its_units() -> None:
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

        def forward(self, features: Tensor) -> Tensor:
            result: Tensor = self.last(torch.tanh(self.first(features)).reshape(-1, 4))
            return result

    network, samples = Fixed(), torch.randn(5, 3)
    network.last.weight[:, 0] = 0.0
    small = narrowed(silenced(network, samples), samples)
    assert isinstance(small, Fixed)
    assert small.first.out_features == 4
    assert not small.first.weight[0].any()
    assert torch.allclose(small(samples), network(samples))


@torch.no_grad()
def test_a_network_that_cannot_be_traced_keeps_its_units() -> None:
    class Deciding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

        def forward(self, features: Tensor) -> Tensor:
            hidden = torch.tanh(self.first(features))
            result: Tensor = self.last(hidden if hidden.sum() > 0 else -hidden)
            return result

    network, samples = Deciding(), torch.randn(5, 3)
    network.last.weight[:, 0] = 0.0
    assert readers(network) == {}
    assert torch.equal(narrowed(silenced(network, samples), samples)(samples), network(samples))


@torch.no_grad()
@pytest.mark.parametrize("seed", range(5))
def test_answers_stay_the_same_for_random_zeros(seed: int) -> None:
    torch.manual_seed(seed)
    for network, width in ((perceptron(), 6), (convolutions(), 64)):
        for tensor in network.parameters():
            tensor.mul_(torch.rand_like(tensor) < 0.15)
        samples = torch.randn(16, width)
        small = narrowed(silenced(network, samples[:4]), samples[:4])
        assert torch.allclose(small(samples), network(samples), atol=1e-5)
        assert sum(int((p != 0).sum()) for p in small.parameters()) <= sum(
            int((p != 0).sum()) for p in network.parameters()
        )


def test_a_layer_whose_units_are_all_dead_keeps_one() -> None:
    network, samples = perceptron(), torch.randn(4, 6)
    with torch.no_grad():
        _linear(network, 2).weight.zero_()
        small = narrowed(silenced(network, samples), samples)
        assert _linear(small, 0).out_features == 1
        assert torch.allclose(small(samples), network(samples))
