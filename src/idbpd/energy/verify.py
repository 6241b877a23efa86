"""The energy of a network as it is: an independent sum over its arrays, on the worst hardware.

Nothing is taken from the problem that was solved: every number of every array is looked at, and the operations are
added up one layer after the other in plain Python.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from idbpd.energy.hardware import OPERATIONS, Hardware

_ROUNDING = 1e-12


class VerifiedEnergy(NamedTuple):
    """What a network needs for one answer, in picojoules."""

    worst: float  # on the worst hardware of the set
    nominal: float  # by the table
    worst_costs: dict[str, float]  # of the worst hardware, by operation
    nonzero: dict[str, int]  # weights and biases that are not zero, by layer
    shapes: dict[str, list[int]]  # of the weights, by layer

    def is_within(self, budget: float) -> bool:
        """Whether the energy is at most the budget, up to the rounding of the sums that both are."""
        return self.worst <= budget * (1 + _ROUNDING)


def verified_energy(network: nn.Module, sample: Tensor, hardware: Hardware) -> VerifiedEnergy:
    """Add up what one answer to ``sample``, a row of features, needs."""
    multiply = add = on_chip = off_chip = 0.0
    nonzero: dict[str, int] = {}
    shapes: dict[str, list[int]] = {}
    outputs: dict[str, tuple[int, int, int]] = {}
    _run_and_note(network, sample, outputs)
    for name, module in network.named_modules():
        if not isinstance(module, nn.Linear | nn.Conv2d):
            continue
        calls, given, taken = outputs.get(name, (0, 0, 0))
        numbers = [number for array in module.parameters() for number in array.flatten().tolist()]
        weights = sum(1 for number in numbers if number != 0.0)
        nonzero[name], shapes[name] = weights, list(module.weight.shape)
        multiply += weights * calls
        add += weights * calls
        on_chip += 2 * weights * calls + taken + given
        off_chip += weights
    counts, table = (multiply, add, on_chip, off_chip), tuple(hardware.costs)
    energies = [count * cost for count, cost in zip(counts, table, strict=True)]
    nominal = math.fsum(energies)
    length = math.sqrt(math.fsum(energy * energy for energy in energies))
    if hardware.shape == "box":
        worst, raised = (1 + hardware.radius) * nominal, [1.0] * len(counts)
    else:
        worst = nominal + hardware.radius * length
        raised = [energy / length if length else 0.0 for energy in energies]
    costs = {
        name: cost * (1 + hardware.radius * share) for name, cost, share in zip(OPERATIONS, table, raised, strict=True)
    }
    return VerifiedEnergy(worst, nominal, costs, nonzero, shapes)


def _run_and_note(network: nn.Module, sample: Tensor, outputs: dict[str, tuple[int, int, int]]) -> None:
    """How often each weight is used, and how many activations leave and enter, by layer."""
    hooks = []
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d):

            def note(layer: Any, inputs: tuple[Tensor, ...], output: Tensor, name: str = name) -> None:
                units = layer.weight.shape[0]
                calls, given, taken = outputs.get(name, (0, 0, 0))
                outputs[name] = (calls + output.numel() // units, given + output.numel(), taken + inputs[0].numel())

            hooks.append(module.register_forward_hook(note))
    try:
        with torch.no_grad():
            network(sample.unsqueeze(0))
    finally:
        for hook in hooks:
            hook.remove()
