"""The passes of the default network over more rows than fit into memory with their hidden activations.

Ten million rows with a hundred hidden units are 4 GB of activations, at every point. Here they live for one block of
rows: the forward pass keeps the logits alone, and the backward pass computes the activations of a block again. That is
one more product, but all that is done with a block happens while it is in the cache.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.passes import Cotangent, in_union, union_of
from idbpd.mtl.read_ahead import read_ahead
from idbpd.mtl.tanh_layout import TanhLayout, TanhWeights

# Numbers in the activations of a block: 1 MB in float32. With 4 MB a step takes a tenth longer.
BLOCK = 1 << 18
FEWEST_ROWS = 64
# Where fewer than this part of a block's rows have weight, they are picked.
WORTH_PICKING = 0.75


class BlockedTanhPasses:
    """A `SharedNetwork` on the tasks of a problem; the features may be a file that is mapped into memory."""

    def __init__(self, network: SharedNetwork, data: MultiTaskData, tasks: Sequence[Task]) -> None:
        """Prepare all that does not depend on the weights."""
        self.device = data.features.device
        self._table = data.features
        self._union = union_of(tasks, len(data.features))
        self._layout = TanhLayout(network, data, tasks)
        width = max(self._layout.inputs, self._layout.units)
        self._rows_at_a_time = max(FEWEST_ROWS, BLOCK // width)
        self._is_whole = [_is_every(places, self._union.size) for places in self._union.positions]
        self._last: TanhWeights | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Block by block, and only the logits are kept."""
        weights = self._last = self._layout.weights(x)
        logits = x.new_empty(len(weights.heads), self._union.size)
        for block, features in self._blocks(x.dtype):
            hidden = torch.addmm(weights.bias, features, weights.trunk.T).tanh_()
            logits[:, block] = torch.addmm(weights.offsets[:, None], weights.heads, hidden.T)
        return tuple(
            logits[labels] if whole else logits[labels].index_select(1, places)
            for labels, places, whole in zip(self._layout.labels, self._union.positions, self._is_whole, strict=True)
        )

    def backward(self, cotangents: Sequence[Cotangent]) -> Tensor:
        """The gradients of all tasks from one more pass, through the rows with weight in any of them."""
        assert self._last is not None  # there is no backward pass before a forward pass
        weights, layout = self._last, self._layout
        slopes = cotangents[0].values.new_empty(layout.labels[-1].stop, self._union.size)
        for task, (labels, cotangent) in enumerate(zip(layout.labels, cotangents, strict=True)):
            slopes[labels] = in_union(self._union, task, cotangent)
        of_trunk = slopes.new_zeros(len(cotangents), layout.units, layout.inputs)
        of_bias = slopes.new_zeros(len(cotangents), layout.units)
        of_heads = slopes.new_zeros(len(slopes), layout.units)
        for block, features in self._blocks(slopes.dtype):
            part = _with_weight(features, slopes[:, block])
            if part is None:
                continue
            hidden = torch.addmm(weights.bias, part.features, weights.trunk.T).tanh_()
            of_heads.addmm_(part.slopes, hidden)
            bend = hidden.square_().neg_().add_(1.0)  # tanh' = 1 - h^2
            for task, labels in enumerate(layout.labels):
                back = _back(bend, part.slopes[labels], weights.heads[labels])
                of_trunk[task].addmm_(back.T, part.features)
                of_bias[task] += back.sum(dim=0)
        for task, labels in enumerate(layout.labels):
            if _is_single(labels):
                of_trunk[task] *= weights.heads[labels].T
                of_bias[task] *= weights.heads[labels][0]
        return layout.flat(of_trunk.flatten(0, 1), of_bias.flatten(), of_heads, slopes.sum(dim=1))

    def _blocks(self, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
        """Ranges of the rows in use, and their features."""
        rows, size = self._union.rows, self._rows_at_a_time
        for begin in range(0, self._union.size, size):
            block = slice(begin, min(begin + size, self._union.size))
            read_ahead(self._table, rows, block)
            features = self._table[block] if rows is None else self._table.index_select(0, rows[block])
            yield block, features.to(dtype)


class _Part(NamedTuple):
    """The rows of a block that have weight in some task."""

    features: Tensor
    slopes: Tensor  # (labels of all tasks, rows)


def _with_weight(features: Tensor, slopes: Tensor) -> _Part | None:
    rows = (slopes != 0).any(dim=0).nonzero(as_tuple=True)[0]
    if len(rows) == 0:
        return None
    if len(rows) < WORTH_PICKING * len(features):
        return _Part(features.index_select(0, rows), slopes.index_select(1, rows))
    return _Part(features, slopes)


def _back(bend: Tensor, slopes: Tensor, heads: Tensor) -> Tensor:
    """The derivative in the pre-activations; for a task with one output, without the factor that all its rows share."""
    return bend * (slopes.T if len(slopes) == 1 else slopes.T @ heads)


def _is_every(places: Tensor, size: int) -> bool:
    """Whether these are all places in their order: then nothing is picked, and nothing copied."""
    return len(places) == size and bool((places[1:] > places[:-1]).all())


def _is_single(labels: slice) -> bool:
    return bool(labels.stop - labels.start == 1)
