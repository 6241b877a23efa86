"""Units that no longer count: silenced in the weights, and removed from the network.

A unit whose output nothing reads is dead, and so are its own weights. A unit without weights of its own gives the same
number for every sample, which the offsets of its readers can hold. Neither changes an answer of the network.
"""

import copy
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from idbpd.energy.connections import readers
from idbpd.energy.layers import KNOWN

_RELATIVE, _ABSOLUTE = 1e-4, 1e-5  # differences of answers before and after: sums in another order


class _Reader(NamedTuple):
    layer: nn.Linear | nn.Conv2d
    group: int  # how many inputs of it a unit is

    def block(self, unit: int) -> slice:
        return slice(unit * self.group, (unit + 1) * self.group)


def silenced(network: nn.Module, samples: Tensor) -> nn.Module:
    """A copy in which all weights to and from dead units are zero; ``samples`` are two rows of features or more."""
    result = copy.deepcopy(network)
    layers, found = _layers(result), _readers(result)
    with torch.no_grad():
        for _ in range(len(found) + 1):  # what one pass silences may leave units of the layer before without a reader
            inputs = _inputs(result, samples)
            changes = [
                _silence(layers[name], unit, ends, inputs)
                for name, ends in reversed(found.items())
                for unit in range(_width(layers[name]))
            ]
            if not any(changes):
                break
    return result if _answers_alike(network, result, samples) else copy.deepcopy(network)


def narrowed(network: nn.Module, samples: Tensor) -> nn.Module:
    """A copy without the units that have no weight, no offset and no reader. It gives the same answers.

    Where the code of the network needs its widths as they were, the units stay, with zeros.
    """
    result = copy.deepcopy(network)
    layers, found = _layers(result), _readers(result)
    with torch.no_grad():
        for name, ends in found.items():
            layer = layers[name]
            alive = [unit for unit in range(_width(layer)) if not _is_silent(layer, unit, ends)]
            _keep(layer, alive or [0], ends)
    return result if _answers_alike(network, result, samples) else copy.deepcopy(network)


def _layers(network: nn.Module) -> dict[str, nn.Linear | nn.Conv2d]:
    return {name: module for name, module in network.named_modules() if isinstance(module, KNOWN)}


def _readers(network: nn.Module) -> dict[str, list[_Reader]]:
    """The readers of every layer whose units can be told apart in them."""
    layers, found = _layers(network), {}
    for name, ends in readers(network).items():
        width, reading = _width(layers[name]), [layers[end] for end in ends]
        split = any(isinstance(layer, nn.Conv2d) and layer.groups > 1 for layer in (layers[name], *reading))
        if not split and all(_read(layer) % width == 0 for layer in reading):
            found[name] = [_Reader(layer, _read(layer) // width) for layer in reading]
    return found


def _width(layer: nn.Linear | nn.Conv2d) -> int:
    return layer.out_features if isinstance(layer, nn.Linear) else layer.out_channels


def _read(layer: nn.Linear | nn.Conv2d) -> int:
    return layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels


def _inputs(network: nn.Module, samples: Tensor) -> dict[nn.Module, Tensor]:
    """What every layer is given."""
    seen: dict[nn.Module, Tensor] = {}

    def note(module: nn.Module, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        seen[module] = inputs[0]

    hooks = [layer.register_forward_hook(note) for layer in _layers(network).values()]
    try:
        network(samples)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def _silence(layer: nn.Linear | nn.Conv2d, unit: int, ends: list[_Reader], inputs: Mapping[nn.Module, Tensor]) -> bool:
    """Whether a unit that was dead, or the same for all samples, has been silenced."""
    if _is_silent(layer, unit, ends):
        return False
    if _is_read(unit, ends):
        if bool(layer.weight[unit].any()) or not all(_holds(end, unit, inputs) for end in ends):
            return False
        for end in ends:
            block = end.block(unit)
            if end.layer.bias is not None and isinstance(end.layer, nn.Linear):
                end.layer.bias.add_(end.layer.weight[:, block] @ inputs[end.layer][0, block])
            end.layer.weight[:, block] = 0.0
    layer.weight[unit] = 0.0
    if layer.bias is not None:
        layer.bias[unit] = 0.0
    return True


def _holds(end: _Reader, unit: int, inputs: Mapping[nn.Module, Tensor]) -> bool:
    """Whether a reader can do without a unit that gives the same for all samples."""
    given = inputs[end.layer][:, end.block(unit)]
    if not bool(given.any()):
        return True
    return isinstance(end.layer, nn.Linear) and end.layer.bias is not None and given.dim() == 2


def _is_read(unit: int, ends: list[_Reader]) -> bool:
    return any(bool(end.layer.weight[:, end.block(unit)].any()) for end in ends)


def _is_silent(layer: nn.Linear | nn.Conv2d, unit: int, ends: list[_Reader]) -> bool:
    of_its_own = bool(layer.weight[unit].any()) or (layer.bias is not None and bool(layer.bias[unit]))
    return not of_its_own and not _is_read(unit, ends)


def _keep(layer: nn.Linear | nn.Conv2d, alive: list[int], ends: list[_Reader]) -> None:
    """Make a layer narrower, and its readers with it."""
    layer.weight = nn.Parameter(layer.weight[alive].clone())
    if layer.bias is not None:
        layer.bias = nn.Parameter(layer.bias[alive].clone())
    _set_sizes(layer, outputs=len(alive))
    for end in ends:
        inputs = [at for unit in alive for at in range(end.block(unit).start, end.block(unit).stop)]
        end.layer.weight = nn.Parameter(end.layer.weight[:, inputs].clone())
        _set_sizes(end.layer, inputs=len(inputs))


def _set_sizes(layer: nn.Linear | nn.Conv2d, *, inputs: int | None = None, outputs: int | None = None) -> None:
    names = ("in_features", "out_features") if isinstance(layer, nn.Linear) else ("in_channels", "out_channels")
    for name, size in zip(names, (inputs, outputs), strict=True):
        if size is not None:
            setattr(layer, name, size)


def _answers_alike(network: nn.Module, other: nn.Module, samples: Tensor) -> bool:
    with torch.no_grad():
        try:
            pairs = zip(_listed(network(samples)), _listed(other(samples)), strict=True)
            return all(one.shape == two.shape and torch.allclose(one, two, _RELATIVE, _ABSOLUTE) for one, two in pairs)
        except (RuntimeError, ValueError):
            return False  # its code states a width that it no longer has


def _listed(answers: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (answers,) if isinstance(answers, Tensor) else tuple(answers)
