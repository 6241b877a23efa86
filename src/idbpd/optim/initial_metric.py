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

    def diagonal(self, like: Tensor) -> Tensor:
        """The diagonal of H0, for points like ``like``."""
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

    def write_diagonal(self, into: Tensor) -> None:
        """Write this layer's part of the diagonal of H0."""
        rows, columns = self.outputs, self.inputs + (self.bias is not None)
        right, left = (
            into.new_ones(size) if side is None else side.diagonal() if side.dim() == 2 else side
            for side, size in ((self.right, columns), (self.left, rows))
        )
        table = left.unsqueeze(1) * right
        into[self.begin : self.begin + rows * self.inputs] = table[:, : self.inputs].flatten()
        if self.bias is not None:
            into[self.bias : self.bias + rows] = table[:, -1]


class LayeredMetric(NamedTuple):
    """H0 layer by layer; the identity in all other variables."""

    layers: tuple[LayerMetric, ...]

    def apply(self, vectors: Tensor) -> Tensor:
        """H0 v for every row v."""
        result = vectors.clone()
        for layer in self.layers:
            layer.apply(vectors, result)
        return result

    def diagonal(self, like: Tensor) -> Tensor:
        """The diagonal of H0."""
        result = torch.ones_like(like)
        for layer in self.layers:
            layer.write_diagonal(result)
        return result


class RestrictedMetric(NamedTuple):
    """H0 in some of the variables: the part of another H0 that is between them.

    The curvature of a problem in these variables alone is a part of the other curvature, and this is no inverse of it,
    but it is positive definite and has the scales right.
    """

    whole: InitialMetric
    places: Tensor  # of the variables in the vectors of the other metric
    length: int  # of those vectors

    def apply(self, vectors: Tensor) -> Tensor:
        """H0 v for every row v."""
        whole = vectors.new_zeros((len(vectors), self.length))
        whole[:, self.places] = vectors
        return self.whole.apply(whole)[:, self.places]

    def diagonal(self, like: Tensor) -> Tensor:
        """The diagonal of H0."""
        return self.whole.diagonal(like.new_ones(self.length))[self.places]
