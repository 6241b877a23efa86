"""Products with the table of features, dense or sparse, in bounded memory. Nearly all of the time goes into them.

A dense table is never copied: rows are picked, and converted to another floating-point type, a block at a time into
memory of the size of a cache.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

# Numbers in a block of rows: 4 MB in float32. Smaller blocks repeat fixed costs, larger ones leave the cache between
# being picked and being multiplied. An accelerator has no such cache, and larger blocks are faster there.
BLOCK = 1 << 20
BLOCK_ON_AN_ACCELERATOR = 1 << 26
FEWEST_ROWS = 256

# Below this part of non-zero features a sparse product is faster on a CPU (at 3 %, as in 20NG, it takes a third of the
# time; at 22 %, as in Multi-MNIST, it takes longer), and the two sparse copies fill less than a third of the memory
# of the table.
SPARSE_BELOW = 0.08

# A sparse product over all rows takes as long as a dense one over this part of them (measured on 20NG), and twice as
# many outputs take three times as long.
FEW_ROWS = 0.25
OUTPUTS_AT_A_TIME = 128


class Part(NamedTuple):
    """Rows, and the range of a layer's outputs for which they count."""

    rows: Tensor | None  # None: all rows, in their order
    outputs: slice


# The derivative in the given outputs of a layer, for the given rows: (rows, outputs).
Upstream = Callable[[Tensor | slice, slice], Tensor]


class FeatureProducts(Protocol):
    """The products of a first layer with the features of the rows in use."""

    def forward(self, weight: Tensor, bias: Tensor) -> Tensor:
        """X weight^T + bias, one row per sample."""
        ...

    def backward(self, upstream: Upstream, parts: Sequence[Part], of_weight: Tensor, of_bias: Tensor) -> None:
        """Add the derivatives in weight, U^T X, and in bias, the sum of U's rows; U is zero outside the parts."""
        ...


def feature_products(table: Tensor, rows: Tensor | None) -> FeatureProducts:
    """Dense or sparse products, whichever is faster for this table; ``rows`` are the rows in use, None: all."""
    if table.device.type == "cpu" and type(table) is Tensor:
        density = int(table.count_nonzero()) / max(table.numel(), 1)
        if density < SPARSE_BELOW:
            return SparseFeatures(table, rows)
    return DenseFeatures(table, rows)


class DenseFeatures:
    """A table of numbers in rows."""

    def __init__(self, table: Tensor, rows: Tensor | None) -> None:
        """Keep the table as it is."""
        self._table = table
        self._rows = rows
        self._count = len(table) if rows is None else len(rows)

    def forward(self, weight: Tensor, bias: Tensor) -> Tensor:
        """One product per block of rows."""
        out = weight.new_empty(self._count, len(weight))
        for block, features in self._blocks(None, len(weight), weight.dtype):
            torch.addmm(bias, features, weight.T, out=out[block])
        return out

    def backward(self, upstream: Upstream, parts: Sequence[Part], of_weight: Tensor, of_bias: Tensor) -> None:
        """Each row is picked once for all the outputs that need it."""
        for rows, outputs in parts:
            for block, features in self._blocks(rows, outputs.stop - outputs.start, of_weight.dtype):
                u = upstream(block, outputs)
                of_weight[outputs].addmm_(u.T, features)
                of_bias[outputs] += u.sum(dim=0)

    def _blocks(self, chosen: Tensor | None, width: int, dtype: torch.dtype) -> Iterator[tuple[Tensor | slice, Tensor]]:
        """Blocks of the chosen rows: their places among the rows in use, and their features."""
        count = self._count if chosen is None else len(chosen)
        numbers = BLOCK if self._table.device.type == "cpu" else BLOCK_ON_AN_ACCELERATOR
        size = max(FEWEST_ROWS, numbers // max(self._table.shape[1], width))
        picked: Tensor | None = None
        for begin in range(0, count, size):
            span = slice(begin, min(begin + size, count))
            block = span if chosen is None else chosen[span]
            places = block if self._rows is None else self._rows[block]
            if isinstance(places, slice):
                features = self._table[places]
            else:
                if picked is None:
                    picked = self._table.new_empty(min(size, count), self._table.shape[1])
                features = torch.index_select(self._table, 0, places, out=picked[: len(places)])
            yield block, features.to(dtype)


class SparseFeatures:
    """A table of mostly zeros, kept by rows for the way forward and by columns for the way back.

    The way back multiplies all rows, with zeros for those that are not in a part: picking rows of a sparse matrix costs
    more. A part of few rows is multiplied as a dense table.
    """

    def __init__(self, table: Tensor, rows: Tensor | None) -> None:
        """Keep the non-zero entries of the rows in use."""
        self._dense = DenseFeatures(table, rows)
        entries = table.to_sparse()
        chosen = entries if rows is None else entries.index_select(0, rows)
        self._by_row = _by_row(chosen)
        self._by_column = _by_row(chosen.T)

    def forward(self, weight: Tensor, bias: Tensor) -> Tensor:
        """One sparse product."""
        self._use(weight.dtype)
        return (self._by_row @ weight.T.contiguous()).add_(bias)

    def backward(self, upstream: Upstream, parts: Sequence[Part], of_weight: Tensor, of_bias: Tensor) -> None:
        """A sparse product for the parts of many rows, a dense one for those of few."""
        count = self._by_row.shape[0]
        for rows, outputs in parts:
            if rows is not None and len(rows) < FEW_ROWS * count:
                self._dense.backward(upstream, [Part(rows, outputs)], of_weight, of_bias)
                continue
            u = upstream(slice(0, count) if rows is None else rows, outputs)
            of_bias[outputs] += u.sum(dim=0)
            for begin in range(0, u.shape[1], OUTPUTS_AT_A_TIME):
                some = u[:, begin : begin + OUTPUTS_AT_A_TIME]
                if rows is not None:
                    some = some.new_zeros(count, some.shape[1]).index_copy_(0, rows, some)
                into = of_weight[outputs][begin : begin + OUTPUTS_AT_A_TIME]
                into += (self._by_column @ some.contiguous()).T

    def _use(self, dtype: torch.dtype) -> None:
        if self._by_row.dtype != dtype:
            self._by_row, self._by_column = self._by_row.to(dtype), self._by_column.to(dtype)


def _by_row(entries: Tensor) -> Tensor:
    """A sparse table by rows, with indices of four bytes: half the memory, and what the library underneath wants."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        wide = entries.to_sparse_csr()
        return torch.sparse_csr_tensor(
            wide.crow_indices().int(),
            wide.col_indices().int(),
            wide.values(),
            size=wide.shape,
            dtype=wide.dtype,
            check_invariants=True,
        )
