"""The passes of the default network: one product with the features each way, everything else by hand."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.feature_products import Part, feature_products
from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.passes import Cotangent, in_union, union_of
from idbpd.mtl.tanh_layout import TanhLayout, TanhWeights

# What it costs to pick a row, in multiplications of that row by one hidden unit (measured: 0.8 and 0.027 microseconds
# with 1296 features). Where picking would cost more than it saves, rows without weight are multiplied by zero.
UNITS_PER_PICK = 30

# The same for the hidden activations, with few labels: picking a row costs as much as multiplying three.
PICKS_PER_ROW = 3

tanh_backward = torch.ops.aten.tanh_backward.default  # slope times 1 - h^2, without a copy in between


class _Weighted(NamedTuple):
    """The rows with weight in any task, and the same rows by the tasks in which they have it."""

    rows: Tensor | None  # None: all
    parts: list[Part]


class TanhPasses:
    """A `SharedNetwork` on the tasks of a problem.

    The first layer's product is done once per point and never again: a backward pass begins from the hidden
    activations h that the forward pass left, with tanh' = 1 - h^2. Supports of tasks overlap: a row is picked once
    for all tasks in which it has weight, and multiplied for them in one product.
    """

    def __init__(self, network: SharedNetwork, data: MultiTaskData, tasks: Sequence[Task]) -> None:
        """Prepare all that does not depend on the weights."""
        self.device = data.features.device
        self._union = union_of(tasks, len(data.features))
        self._features = feature_products(data.table, self._union.rows)
        self._layout = TanhLayout(network, data, tasks)
        self._units, self._inputs, self._labels = self._layout.units, self._layout.inputs, self._layout.labels
        self._last: tuple[TanhWeights, Tensor] | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """One product with the features, and one with all heads."""
        weights = self._layout.weights(x)
        hidden = self._features.forward(weights.trunk, weights.bias).tanh_()
        self._last = weights, hidden
        logits = torch.addmm(weights.offsets[:, None], weights.heads, hidden.T)
        return tuple(
            logits[labels].index_select(1, places)
            for labels, places in zip(self._labels, self._union.positions, strict=True)
        )

    def backward(self, cotangents: Sequence[Cotangent]) -> Tensor:
        """The gradients of all tasks from one pass through the rows with weight in any of them."""
        assert self._last is not None  # there is no backward pass before a forward pass
        weights, hidden = self._last
        slopes = torch.cat([in_union(self._union, task, c) for task, c in enumerate(cotangents)])
        spread = self._layout.spread(weights)

        def upstream(rows: Tensor | slice, outputs: slice) -> Tensor:
            """The derivative in the pre-activations for the tasks whose hidden units these are."""
            labels = self._labels_of(outputs)
            h, slope = _picked(hidden, 0, rows), _picked(slopes[labels], 1, rows)
            back = slope.T @ spread[labels, outputs]
            into: Tensor = tanh_backward(back.view(len(h), -1, self._units), h.unsqueeze(1))
            return into.flatten(1)

        weighted = self._with_weight(cotangents)
        of_trunk = hidden.new_zeros(self._units * len(cotangents), self._inputs)
        of_bias = hidden.new_zeros(len(of_trunk))
        self._features.backward(upstream, weighted.parts, of_trunk, of_bias)
        rows = weighted.rows
        if rows is None or PICKS_PER_ROW * len(rows) > len(hidden):
            of_heads = slopes @ hidden
        else:
            of_heads = slopes.index_select(1, rows) @ hidden.index_select(0, rows)
        return self._layout.flat(of_trunk, of_bias, of_heads, slopes.sum(dim=1))

    def _labels_of(self, outputs: slice) -> slice:
        """The labels of the tasks whose hidden units the outputs are."""
        first, last = outputs.start // self._units, outputs.stop // self._units
        return slice(self._labels[first].start, self._labels[last - 1].stop)

    def _with_weight(self, cotangents: Sequence[Cotangent]) -> _Weighted:
        """The rows with weight, by the tasks in which they have it: rows of the same tasks share one product."""
        everything = _Weighted(None, [Part(None, slice(0, self._units * len(cotangents)))])
        code = torch.zeros(self._union.size, dtype=torch.int64, device=self.device)
        needless = len(cotangents) * self._union.size
        for task, (cotangent, places) in enumerate(zip(cotangents, self._union.positions, strict=True)):
            if cotangent.samples is None:
                return everything
            code[places[cotangent.samples]] += 1 << task
            needless -= len(cotangent.samples)
        rows = code.nonzero(as_tuple=True)[0]
        if needless * self._units <= UNITS_PER_PICK * len(rows):
            return everything
        parts = []
        for combination in sorted(set(code[rows].tolist())):
            of_these = (code == combination).nonzero(as_tuple=True)[0]
            parts += [Part(of_these, slice(a * self._units, b * self._units)) for a, b in _runs(combination)]
        return _Weighted(rows, parts)


def _picked(table: Tensor, dim: int, places: Tensor | slice) -> Tensor:
    """Rows or columns of a table; where they are a range, without a copy."""
    if isinstance(places, slice):
        return table.narrow(dim, places.start, places.stop - places.start)
    return table.index_select(dim, places)


def _runs(combination: int) -> Iterator[tuple[int, int]]:
    """The set bits as runs of neighbours, from and to.

    >>> list(_runs(0b1101))
    [(0, 1), (2, 4)]
    """
    bit = 0
    while combination >> bit:
        begin = bit
        while combination >> bit & 1:
            bit += 1
        if bit > begin:
            yield begin, bit
        bit += 1
