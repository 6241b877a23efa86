"""The parameters that one task's answers do not depend on, but the answers to other tasks do.

For the default network they are the heads of the other tasks. For a network of the user's own, autograd finds them.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from idbpd.mtl.sparse_rows import Features

# Rows to try, and sizes of the random weights to try them with: saturated units hide a dependence, small weights do
# not saturate, and a unit that happens to be off for all rows with some weights is on with others.
ROWS = 64
SIZES = (1.0, 1e-2, 1e-4)
# The answers to the task may change by rounding at most.
ROUNDING = 1e-9


class OwnParameters(NamedTuple):
    """What can be trained without a change of one task's answers."""

    places: Tensor  # (k,), int64: in the flat vector of all trained parameters
    tasks: tuple[int, ...]  # the positions of the tasks whose answers depend on them


def own_parameters(network: nn.Module, features: Features, task: int) -> OwnParameters:
    """The parameters that the answers to ``task`` do not depend on, but those to another task do.

    Numbers are judged one by one, so a layer that holds the heads of all tasks is divided. A number is free if its
    gradient is zero at all weights that are tried; dependence without a gradient is found by changing the free numbers.
    """
    probe = copy.deepcopy(network).to("cpu", torch.float64)
    rows = spread_rows(features).to("cpu", torch.float64)
    generator = torch.Generator().manual_seed(0)
    draws = drawn_weights(probe, generator)
    dependence = torch.stack([_dependence(probe, weights, rows, generator) for weights in draws]).any(dim=0)
    of_others = dependence.clone()
    of_others[task] = False
    free = of_others.any(dim=0) & ~dependence[task]
    if not all(_changes_nothing(probe, weights, rows, free, task) for weights in draws):
        free = torch.zeros_like(free)
    tasks = tuple(at for at, depends in enumerate(dependence) if bool((depends & free).any()))
    return OwnParameters(free.nonzero(as_tuple=True)[0], tasks)


def drawn_weights(probe: nn.Module, generator: torch.Generator | None = None) -> list[dict[str, Tensor]]:
    """Random weights of several sizes for all trained parameters of a network, in float64."""
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    trained = {name: parameter.shape for name, parameter in probe.named_parameters() if parameter.requires_grad}
    return [
        {name: size * torch.randn(shape, dtype=torch.float64, generator=generator) for name, shape in trained.items()}
        for size in SIZES
    ]


def spread_rows(features: Features) -> Tensor:
    """Rows from everywhere in the data: a file may be sorted."""
    places = torch.linspace(0, len(features) - 1, min(ROWS, len(features))).long().to(features.device)
    return features.index_select(0, places).to_dense()


def _dependence(network: nn.Module, weights: dict[str, Tensor], rows: Tensor, generator: torch.Generator) -> Tensor:
    """Whether the logits of each task are seen to depend on each number: (tasks, numbers)."""
    leaves = {name: tensor.clone().requires_grad_(True) for name, tensor in weights.items()}
    with torch.enable_grad():
        logits = functional_call(network, leaves, (rows,))
    found = []
    for of_task in logits:
        # A random sum of all logits: some sums are the same whatever the weights are, such as that of probabilities.
        slopes = torch.randn(of_task.shape, dtype=of_task.dtype, generator=generator)
        # Summed here: given as grad_outputs, the slopes would make torch import its compiler.
        with torch.enable_grad():
            total = (of_task * slopes).sum()
        parts = torch.autograd.grad(total, list(leaves.values()), retain_graph=True, materialize_grads=True)
        gradient = torch.cat([part.flatten() for part in parts])
        found.append((gradient != 0) & gradient.isfinite())  # an overflow says nothing
    return torch.stack(found)


@torch.no_grad()
def _changes_nothing(network: nn.Module, weights: dict[str, Tensor], rows: Tensor, free: Tensor, task: int) -> bool:
    """Whether the answers stay as they are when the free numbers are others."""
    pieces = torch.split(free, [tensor.numel() for tensor in weights.values()])
    changed = {
        name: torch.where(piece.view_as(tensor), tensor.roll(1) + 1, tensor)
        for (name, tensor), piece in zip(weights.items(), pieces, strict=True)
    }
    before, after = (functional_call(network, given, (rows,))[task] for given in (weights, changed))
    return torch.allclose(before, after, rtol=ROUNDING, atol=0.0, equal_nan=True)
