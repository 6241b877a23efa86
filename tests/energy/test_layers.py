"""Which layers count, where their weights are, and how often each is used."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from idbpd.energy import layers_of
from idbpd.errors import ConfigurationError
from tests.energy.networks import convolutions, perceptron


def test_a_weight_of_a_convolution_is_used_once_per_place_of_its_output() -> None:
    found = layers_of(convolutions(), torch.zeros(64))
    assert [(layer.name, layer.size, layer.uses) for layer in found] == [
        ("1", 4 * 9 + 4, 64),
        ("4", 6 * 4 * 9 + 6, 4),
        ("7", 24 * 5 + 5, 1),
        ("9", 5 * 3 + 3, 1),
    ]
    assert [layer.activations for layer in found] == [64 + 4 * 64, 4 * 16 + 6 * 4, 24 + 5, 5 + 3]


def test_the_places_are_those_of_the_weights_in_the_flat_point() -> None:
    network = convolutions()
    x = parameters_to_vector(network.parameters())
    for layer in layers_of(network, torch.zeros(64)):
        module = network.get_submodule(layer.name)
        assert torch.equal(x[layer.places], parameters_to_vector(module.parameters()))


def test_a_layer_that_is_called_twice_uses_its_weights_twice() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3, bias=False)

        def forward(self, features: Tensor) -> Tensor:
            result: Tensor = self.inner(self.inner(features))
            return result

    (layer,) = layers_of(Twice(), torch.zeros(3))
    assert (layer.size, layer.uses, layer.activations) == (9, 2, 12)


def test_a_layer_of_an_unknown_kind_is_named() -> None:
    network = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    with pytest.raises(
        ConfigurationError, match=r"does not know layer '1' \(BatchNorm1d\); it knows Linear and Conv2d"
    ):
        layers_of(network, torch.zeros(3))


def test_a_parameter_of_the_network_itself_is_named() -> None:
    network = perceptron()
    network.scale = nn.Parameter(torch.ones(1))
    with pytest.raises(ConfigurationError, match="parameter 'scale' of Sequential"):
        layers_of(network, torch.zeros(6))


def test_a_layer_that_is_not_trained_is_refused() -> None:
    network = perceptron()
    network[0].weight.requires_grad_(False)
    with pytest.raises(ConfigurationError, match=r"'0.weight', which is not trained"):
        layers_of(network, torch.zeros(6))


def test_a_network_without_a_known_layer_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no Linear or Conv2d layer"):
        layers_of(nn.Sequential(nn.Tanh()), torch.zeros(6))
