"""The passes of the default network over more rows than fit into memory with their hidden activations.

Ten million rows with a hundred hidden units are 4 GB of activations, at every point. Here they live for one block of
rows: the forward pass keeps the logits alone, and the backward pass computes the activations of a block again. That is
one more product, but all that is done with a block happens while it is in the cache.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from idbpd.mtl.data import MultiTaskData, Task
from idbpd.mtl.network import SharedNetwork
from idbpd.mtl.passes import Cotangent, in_union, union_of
from idbpd.mtl.row_blocks import Block, row_blocks
from idbpd.mtl.tanh_layout import TanhLayout, TanhWeights

# Where fewer than this part of a block's rows have weight, they are picked.
WORTH_PICKING = 0.75


class BlockedTanhPasses:
    """A `SharedNetwork` on the tasks of a problem; the features may be a file that is mapped into memory."""

    def __init__(self, network: SharedNetwork, data: MultiTaskData, tasks: Sequence[Task]) -> None:
        """Prepare all that does not depend on the weights."""
        self.device = data.features.device
        self._union = union_of(tasks, len(data.features))
        self._layout = TanhLayout(network, data, tasks)
        self._table = row_blocks(data.features, self._union.rows, self._layout.units)
        self._is_whole = [_is_every(places, self._union.size) for places in self._union.positions]
        self._last: TanhWeights | None = None

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Block by block, and only the logits are kept."""
        weights = self._last = self._layout.weights(x)
        logits = x.new_empty(len(weights.heads), self._union.size)
        trunk = self._table.weight(weights.trunk)
        for block, features in self._table.blocks(x.dtype):
            hidden = features.forward(trunk, weights.bias).tanh_()
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
        trunk = self._table.weight(weights.trunk)
        of_trunk = self._table.slopes(slopes, len(cotangents), layout.units)
        of_bias = slopes.new_zeros(len(cotangents), layout.units)
        of_heads = slopes.new_zeros(len(slopes), layout.units)
        for block, features in self._table.blocks(slopes.dtype):
            part = _with_weight(features, slopes[:, block])
            if part is None:
                continue
            hidden = part.features.forward(trunk, weights.bias).tanh_()
            of_heads.addmm_(part.slopes, hidden)
            bend = hidden.square_().neg_().add_(1.0)  # tanh' = 1 - h^2
            for task, labels in enumerate(layout.labels):
                back = _back(bend, part.slopes[labels], weights.heads[labels])
                part.features.add_slope(of_trunk[task], back)
                of_bias[task] += back.sum(dim=0)
        of_trunk = self._table.by_output(of_trunk)
        for task, labels in enumerate(layout.labels):
            if _is_single(labels):
                of_trunk[task] *= weights.heads[labels].T
                of_bias[task] *= weights.heads[labels][0]
        return layout.flat(of_trunk.flatten(0, 1), of_bias.flatten(), of_heads, slopes.sum(dim=1))


class _Part(NamedTuple):
    """The rows of a block that have weight in some task."""

    features: Block
    slopes: Tensor  # (labels of all tasks, rows)


def _with_weight(features: Block, slopes: Tensor) -> _Part | None:
    rows = (slopes != 0).any(dim=0).nonzero(as_tuple=True)[0]
    if len(rows) == 0:
        return None
    if len(rows) < WORTH_PICKING * slopes.shape[1]:
        return _Part(features.of(rows), slopes.index_select(1, rows))
    return _Part(features, slopes)


def _back(bend: Tensor, slopes: Tensor, heads: Tensor) -> Tensor:
    """The derivative in the pre-activations; for a task with one output, without the factor that all its rows share."""
    return bend * (slopes.T if len(slopes) == 1 else slopes.T @ heads)


def _is_every(places: Tensor, size: int) -> bool:
    """Whether these are all places in their order: then nothing is picked, and nothing copied."""
    return len(places) == size and bool((places[1:] > places[:-1]).all())


def _is_single(labels: slice) -> bool:
    return bool(labels.stop - labels.start == 1)
