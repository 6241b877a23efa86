"""What is known about curvature without gradients: the metric H0 on which the pairs of L-BFGS build.

The Hessian of a network's loss in the weights of one linear layer is about B x A: A has the second moments of what goes
into the layer, with a one for its bias, B those of the derivatives behind it. So H0 has one small matrix per side of
each layer, and is applied to a vector by one or two small products.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class InitialMetric(Protocol):
    """A symmetric and positive definite H0. To be part of a saved state it is a NamedTuple that is registered there."""

    def apply(self, vectors: Tensor) -> Tensor:
        """H0 v for every row v; nothing waits for the device."""
        ...


class LayerMetric(NamedTuple):
    """H0 in the weights of one layer, (outputs, inputs) row by row in the flat vector, and in its bias."""

    begin: int  # of the weights in the flat vector
    outputs: int
    inputs: int
    bias: int | None  # where the bias begins; None: there is none
    right: Tensor | None  # (inputs, inputs), with the bias as the last input; (inputs,): a diagonal; None: the identity
    left: Tensor | None = None  # (outputs, outputs); (outputs,): a diagonal; None: the identity

    def apply(self, vectors: Tensor, into: Tensor) -> None:
        """Write this layer's part of H0 v for every row v."""
        end = self.begin + self.outputs * self.inputs
        table = vectors[:, self.begin : end].reshape(-1, self.outputs, self.inputs)
        if self.bias is not None:
            table = torch.cat([table, vectors[:, self.bias : self.bias + self.outputs].unsqueeze(2)], dim=2)
        if self.right is not None:
            table = table @ self.right if self.right.dim() == 2 else table * self.right
        if self.left is not None:
            table = self.left @ table if self.left.dim() == 2 else table * self.left.unsqueeze(1)
        into[:, self.begin : end] = table[:, :, : self.inputs].flatten(1)
        if self.bias is not None:
            into[:, self.bias : self.bias + self.outputs] = table[:, :, -1]


class LayeredMetric(NamedTuple):
    """H0 layer by layer; the identity in all other variables."""

    layers: tuple[LayerMetric, ...]

    def apply(self, vectors: Tensor) -> Tensor:
        """H0 v for every row v."""
        result = vectors.clone()
        for layer in self.layers:
            layer.apply(vectors, result)
        return result
