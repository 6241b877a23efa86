"""Which layers of a network the energy model counts, and how often a weight of each is used for one answer."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.errors import ConfigurationError

KNOWN = (nn.Linear, nn.Conv2d)


class Layer(NamedTuple):
    """A layer: where its weights and offsets are among all trained numbers, and what one answer needs of it."""

    name: str
    places: Tensor  # of its weights, then of its biases, in the flat point of the solver
    uses: float  # of each weight, for one answer
    activations: float  # into it and out of it, for one answer

    @property
    def size(self) -> int:
        """The number of weights, biases included."""
        return len(self.places)


class _Traffic:
    """Counts uses and activations while a network answers."""

    def __init__(self) -> None:
        self.uses: dict[nn.Module, float] = {}
        self.activations: dict[nn.Module, float] = {}

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        outputs = module.out_features if isinstance(module, nn.Linear) else module.out_channels
        assert isinstance(outputs, int)
        self.uses[module] = self.uses.get(module, 0) + output.numel() / outputs
        self.activations[module] = self.activations.get(module, 0) + inputs[0].numel() + output.numel()


def layers_of(network: nn.Module, sample: Tensor) -> list[Layer]:
    """Every linear layer and convolution, in the order of their weights; ``sample`` is a row of features.

    A `ConfigurationError` names a layer with weights of another kind.
    """
    places = dict(_places(network))
    known = {name: module for name, module in network.named_modules() if isinstance(module, KNOWN)}
    _refuse_unknown(network, known, places)
    traffic = measured_traffic(network, sample)
    layers = []
    for name, module in known.items():
        parts = [part for part in ("weight", "bias") if getattr(module, part) is not None]
        found = [places[_joined(name, part)] for part in parts]
        layers.append(Layer(name, torch.cat(found), traffic.uses.get(module, 0), traffic.activations.get(module, 0)))
    return layers


def measured_traffic(network: nn.Module, sample: Tensor) -> _Traffic:
    """What one answer needs of every known layer, found by giving it."""
    traffic = _Traffic()
    hooks = [module.register_forward_hook(traffic) for module in network.modules() if isinstance(module, KNOWN)]
    try:
        with torch.no_grad():
            network(sample.reshape(1, -1))
    finally:
        for hook in hooks:
            hook.remove()
    return traffic


def _places(network: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Where each trained tensor is in the flat point."""
    begin = 0
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            yield name, torch.arange(begin, begin + parameter.numel())
            begin += parameter.numel()


def _refuse_unknown(network: nn.Module, known: Mapping[str, nn.Module], places: dict[str, Tensor]) -> None:
    kinds = {name: type(module).__name__ for name, module in network.named_modules()}
    for name, _ in network.named_parameters():
        owner = name.rpartition(".")[0]
        if owner not in known:
            where = f"layer {owner!r} ({kinds[owner]})" if owner else f"parameter {name!r} of {kinds['']}"
            raise ConfigurationError(
                f"the energy model does not know {where}; it knows {' and '.join(kind.__name__ for kind in KNOWN)}"
            )
        if name not in places:
            raise ConfigurationError(
                f"layer {owner!r} has {name!r}, which is not trained; an energy budget needs it to be"
            )
    if not known:
        raise ConfigurationError("the network has no Linear or Conv2d layer, and without one no energy to limit")


def _joined(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name
