"""Prune to the levels that were found: which weights stay, and how many of them a budget allows."""

import torch
from torch import Tensor

from idbpd.energy.problem import EnergyModel

_HALVINGS = 60


def levels(model: EnergyModel, shares: Tensor, budget: float) -> list[int]:
    """How many weights each layer keeps: its share, rounded down, and at least one.

    Where the energy is below the budget, because more weights would not help, all shares are raised by the same factor
    until it is used: a weight that the budget allows is not pruned.
    """
    numbers = shares.cpu().to(torch.float64) * model.sizes

    def raised(factor: float) -> Tensor:
        return torch.minimum((numbers * factor).floor().clamp(min=1), model.sizes)

    low, high = 0.0, float((model.sizes / numbers).max()) * (1 + 1e-9)
    if model.worst_energy(raised(high)) <= budget:
        return [int(number) for number in raised(high).tolist()]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if model.worst_energy(raised(middle)) <= budget else (low, middle)
    return [int(number) for number in raised(low).tolist()]


def largest(model: EnergyModel, weights: Tensor, kept: list[int]) -> Tensor:
    """The places of the largest weights of each layer, in order; (sum of ``kept``,)."""
    chosen = [
        layer.places.to(weights.device)[weights[layer.places].abs().topk(number).indices]
        for layer, number in zip(model.layers, kept, strict=True)
    ]
    return torch.cat(chosen).sort().values


def only(weights: Tensor, places: Tensor) -> Tensor:
    """The weights at these places; all others are zero."""
    pruned = torch.zeros_like(weights)
    pruned[places] = weights[places]
    return pruned
