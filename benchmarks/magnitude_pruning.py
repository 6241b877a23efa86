"""What people do: global magnitude pruning by `torch.nn.utils.prune`, in rounds, each followed by fine-tuning."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import prune

from idbpd.energy import Hardware, narrowed, silenced, verified_energy

FineTune = Callable[[dict[str, Tensor], int], dict[str, Tensor]]  # weights with zeros and the round, to trained ones
_HALVINGS = 30


def magnitude_pruned(
    network: nn.Module,
    samples: Tensor,
    hardware: Hardware,
    budgets: Sequence[float],
    fine_tune: FineTune,
) -> dict[str, Tensor]:
    """The weights after a round for each of the budgets, which fall; a budget is in picojoules.

    Each round removes the smallest of all weights and biases, whatever their layer, until the network with its dead
    units removed is within the budget of the round, and then trains what is left.
    """
    current = copy.deepcopy(network)
    for number, budget in enumerate(budgets):
        low, high = 0.0, 1.0  # of all numbers: what is removed is too little, and enough
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = _energy(_pruned(current, middle), samples, hardware) <= budget
            low, high = (low, middle) if fits else (middle, high)
        current = silenced(_pruned(current, high), samples)
        weights = {name: tensor.detach().clone() for name, tensor in current.named_parameters()}
        current.load_state_dict(fine_tune(weights, number))
    return {name: tensor.detach().clone() for name, tensor in current.named_parameters()}


def _pruned(network: nn.Module, amount: float) -> nn.Module:
    """A copy without the smallest ``amount`` of all weights and biases."""
    result = copy.deepcopy(network)
    layers = [module for module in result.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    parts = [(layer, name) for layer in layers for name in ("weight", "bias")]
    with torch.no_grad():
        if amount > 0:
            prune.global_unstructured(parts, pruning_method=prune.L1Unstructured, amount=amount)
            for layer, name in parts:
                prune.remove(layer, name)  # type: ignore[no-untyped-call]
    return result


def _energy(network: nn.Module, samples: Tensor, hardware: Hardware) -> float:
    return verified_energy(narrowed(silenced(network, samples), samples), samples[0], hardware).worst
