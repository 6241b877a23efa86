"""Which layers read what a layer gives, unit by unit: found by tracing the network."""

import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional

from idbpd.energy.layers import KNOWN

# What treats every unit by itself, and gives as many units as it gets.
_MODULES = (
    nn.Tanh, nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Sigmoid, nn.Softplus, nn.Identity, nn.Dropout,
    nn.Flatten, nn.MaxPool2d, nn.AvgPool2d,
)  # fmt: skip
_FUNCTIONS = {
    torch.tanh, torch.relu, torch.sigmoid, torch.flatten, functional.tanh, functional.relu, functional.leaky_relu,
    functional.elu, functional.gelu, functional.silu, functional.sigmoid, functional.softplus, functional.dropout,
    functional.max_pool2d, functional.avg_pool2d, torch.max_pool2d, getattr, operator.getitem,
}  # fmt: skip
_METHODS = {"tanh", "relu", "sigmoid", "flatten", "view", "reshape", "size"}


def readers(network: nn.Module) -> dict[str, list[str]]:
    """The names of the layers that read a layer's output, for layers that nothing else reads.

    The output of the last layers is read by people, so that they are not here. A network that cannot be traced, for
    example because it decides by the numbers it sees, has none.
    """
    try:
        graph = fx.Tracer().trace(network)
    except Exception:  # tracing runs the user's code, which may raise anything on symbols
        return {}
    modules = dict(network.named_modules())
    calls = [node for node in graph.nodes if node.op == "call_module" and isinstance(modules[str(node.target)], KNOWN)]
    found = {}
    for node in calls:
        if sum(other.target == node.target for other in calls) > 1:
            continue  # its weights serve in several places
        ends = list(_ends(node, modules))
        if ends and all(end is not None for end in ends):
            found[str(node.target)] = [str(end) for end in dict.fromkeys(ends)]
    names = [str(node.target) for node in calls]
    return {name: ends for name, ends in found.items() if all(names.count(end) == 1 for end in ends)}


def _ends(node: fx.Node, modules: dict[str, Any]) -> Iterator[str | None]:
    """The layers at the ends of all ways from a node; None for a way that ends elsewhere."""
    for user in node.users:
        if user.op == "call_module" and isinstance(modules[str(user.target)], KNOWN):
            yield str(user.target)
        elif _is_unit_wise(user, modules):
            yield from _ends(user, modules)
        else:
            yield None


def _is_unit_wise(node: fx.Node, modules: dict[str, Any]) -> bool:
    if node.op == "call_module":
        return isinstance(modules[str(node.target)], _MODULES)
    if node.op == "call_function":
        return node.target in _FUNCTIONS
    return node.op == "call_method" and node.target in _METHODS
