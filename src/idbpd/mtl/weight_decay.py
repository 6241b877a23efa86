"""The weight decay of a network: half the squared norm of its parameters times a number, but for output offsets.

Where there is little to learn, a large decay should make the network answer with a constant. The best constant is in
the offsets of its outputs, the biases of the heads. If they decayed too, the network would answer with zero logits
instead: on Yeast and CHD49 that is 15 % worse than the best constant answer.
"""

import copy

import torch
from torch import Tensor, nn
from torch.func import functional_call

from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.own_parameters import drawn_weights, spread_rows
from idbpd.mtl.sparse_rows import Features

ROUNDING = 1e-9  # a larger difference of two outputs in float64 is more than rounding


class WeightDecay:
    """What is added to the objective, and to its gradient in the flat vector of all trained parameters."""

    def __init__(self, number: float, offsets: Tensor | None = None) -> None:
        """``offsets`` marks the numbers that do not decay (`output_offsets`); None: all decay."""
        self.number = number
        self._offsets = offsets if number > 0 else None  # without decay there is nothing to except
        self._counted: Tensor | None = None

    def value(self, x: Tensor) -> Tensor:
        """The term of the objective, in float64."""
        norm: Tensor = torch.linalg.vector_norm(self._decaying(x), dtype=torch.float64)
        return self.number / 2 * norm**2

    def add_slope(self, gradient: Tensor, x: Tensor) -> Tensor:
        """Add the gradient of the term, in place."""
        return gradient.add_(self._decaying(x), alpha=self.number)

    def _decaying(self, x: Tensor) -> Tensor:
        """The parameters that decay, and zero in place of the others."""
        if self._offsets is None:
            return x
        if self._counted is None or self._counted.device != x.device or self._counted.dtype != x.dtype:
            self._counted = (~self._offsets).to(x)
        return x * self._counted


def output_offsets(network: nn.Module, features: Features) -> Tensor:
    """Which numbers of the flat vector of trained parameters shift the outputs of all samples by the same amount.

    For the default network they are known by name. In a network of the user's own, short vectors are changed, and the
    outputs of different samples must change alike whatever the other weights are.
    """
    trained = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    if isinstance(network, SharedNetwork):
        offsets = {name for name in trained if name.startswith("heads.") and name.endswith(".bias")}
    else:
        offsets = _found_offsets(network, features)
    parts = [torch.full((parameter.numel(),), name in offsets) for name, parameter in trained.items()]
    return torch.cat(parts)


@torch.no_grad()
def _found_offsets(network: nn.Module, features: Features) -> set[str]:
    probe = copy.deepcopy(network).to("cpu", torch.float64)
    rows = spread_rows(features).to("cpu", torch.float64)
    if len(rows) < 2:
        return set()
    found = None
    for weights in drawn_weights(probe):
        before = torch.cat(functional_call(probe, weights, (rows,)), dim=1)
        alike = set()
        for name, tensor in weights.items():
            if tensor.dim() > 1 or tensor.numel() > before.shape[1]:
                continue
            changed = {**weights, name: tensor + 1 + torch.arange(tensor.numel(), dtype=tensor.dtype).view_as(tensor)}
            shift = torch.cat(functional_call(probe, changed, (rows,)), dim=1) - before
            if bool(shift.any()) and torch.allclose(shift, shift[:1].expand_as(shift), rtol=ROUNDING, atol=ROUNDING):
                alike.add(name)
        found = alike if found is None else found & alike
    return found or set()
