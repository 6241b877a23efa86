"""Blocks of rows of a table that may be larger than memory, dense or sparse, and the products of a layer with them."""

from collections.abc import Iterator
from typing import Protocol

import torch
from scipy.sparse import csr_array
from torch import Tensor

from idbpd.mtl.read_ahead import read_ahead
from idbpd.mtl.sparse_rows import SparseRows

# Numbers in the activations of a block: 1 MB in float32. With 4 MB a step takes a tenth longer.
BLOCK = 1 << 18
FEWEST_ROWS = 64
# Of a sparse table a block has so many numbers for each of its columns, because every block adds to all columns once;
# but at most so many activations: 64 MB in float32.
NUMBERS_PER_COLUMN = 8
MOST_ACTIVATIONS = 1 << 24


class Block(Protocol):
    """Some rows of a table, as a layer takes them."""

    def forward(self, weight: Tensor, bias: Tensor) -> Tensor:
        """X weight^T + bias, for the weight as `RowBlocks.weight` gives it."""
        ...

    def of(self, rows: Tensor) -> "Block":
        """Some of these rows."""
        ...

    def add_slope(self, into: Tensor, back: Tensor) -> None:
        """Add the derivative in the weight for the derivative ``back`` in the layer's outputs, (rows, outputs)."""
        ...


class RowBlocks(Protocol):
    """A table by blocks of rows."""

    def blocks(self, dtype: torch.dtype) -> Iterator[tuple[slice, Block]]:
        """Ranges of the rows in use, and these rows."""
        ...

    def weight(self, weight: Tensor) -> Tensor:
        """A layer's weight, (outputs, inputs), as blocks multiply it."""
        ...

    def slopes(self, like: Tensor, layers: int, outputs: int) -> Tensor:
        """Zeros, for `Block.add_slope` of each layer."""
        ...

    def by_output(self, slopes: Tensor) -> Tensor:
        """The slopes as (layers, outputs, inputs)."""
        ...


def row_blocks(table: Tensor | SparseRows, rows: Tensor | None, units: int) -> RowBlocks:
    """The blocks of some rows, or of all, for a layer with so many units."""
    return SparseBlocks(table, rows, units) if isinstance(table, SparseRows) else DenseBlocks(table, rows, units)


class DenseBlocks:
    """A tensor, which may be a file that is mapped into memory."""

    def __init__(self, table: Tensor, rows: Tensor | None, units: int) -> None:
        """Settle how many rows a block has."""
        self._table, self._rows = table, rows
        self._count, self._inputs = len(table) if rows is None else len(rows), table.shape[1]
        self._size = max(FEWEST_ROWS, BLOCK // max(self._inputs, units))

    def blocks(self, dtype: torch.dtype) -> Iterator[tuple[slice, Block]]:
        """See `RowBlocks`."""
        for block in _ranges(self._count, self._size):
            if self._rows is None:
                width = self._table.shape[1] * self._table.element_size()
                read_ahead(self._table, block.start * width, block.stop * width)
                features = self._table[block]
            else:
                features = self._table.index_select(0, self._rows[block])
            yield block, _DenseBlock(features.to(dtype))

    def weight(self, weight: Tensor) -> Tensor:
        """As it is."""
        return weight

    def slopes(self, like: Tensor, layers: int, outputs: int) -> Tensor:
        """By output."""
        return like.new_zeros(layers, outputs, self._inputs)

    def by_output(self, slopes: Tensor) -> Tensor:
        """They are."""
        return slopes


class _DenseBlock:
    def __init__(self, features: Tensor) -> None:
        self._features = features

    def forward(self, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.addmm(bias, self._features, weight.T)

    def of(self, rows: Tensor) -> "_DenseBlock":
        return _DenseBlock(self._features.index_select(0, rows))

    def add_slope(self, into: Tensor, back: Tensor) -> None:
        into.addmm_(back.T, self._features)


class SparseBlocks:
    """A table of mostly zeros. Weights stand by column of the table: the numbers of a row pick whole lines of them."""

    def __init__(self, table: SparseRows, rows: Tensor | None, units: int) -> None:
        """Settle how many rows a block has."""
        self._table, self._rows = table, rows
        self._count, self._inputs = len(table) if rows is None else len(rows), table.shape[1]
        of_a_row = max(1, len(table.values) // max(1, len(table)))
        enough = NUMBERS_PER_COLUMN * self._inputs // of_a_row
        self._size = max(FEWEST_ROWS, BLOCK // units, min(enough, MOST_ACTIVATIONS // units))

    def blocks(self, dtype: torch.dtype) -> Iterator[tuple[slice, Block]]:
        """See `RowBlocks`."""
        table = self._table
        for block in _ranges(self._count, self._size):
            if self._rows is None:
                begin, end = int(table.begins[block.start]), int(table.begins[block.stop])
                for numbers in (table.columns, table.values):
                    read_ahead(numbers, begin * numbers.element_size(), end * numbers.element_size())
            part = table.part(block if self._rows is None else self._rows[block])
            yield block, _SparseBlock(part if dtype is table.dtype else part.astype(_name(dtype)))

    def weight(self, weight: Tensor) -> Tensor:
        """By input."""
        return weight.T.contiguous()

    def slopes(self, like: Tensor, layers: int, outputs: int) -> Tensor:
        """By input."""
        return like.new_zeros(layers, self._inputs, outputs)

    def by_output(self, slopes: Tensor) -> Tensor:
        """Turned."""
        return slopes.transpose(1, 2).contiguous()


class _SparseBlock:
    def __init__(self, part: csr_array) -> None:
        self._part = part

    def forward(self, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.from_numpy(self._part @ weight.numpy()).add_(bias)

    def of(self, rows: Tensor) -> "_SparseBlock":
        return _SparseBlock(self._part[rows.numpy()])

    def add_slope(self, into: Tensor, back: Tensor) -> None:
        into += torch.from_numpy(self._part.T @ back.numpy())


def _ranges(count: int, size: int) -> Iterator[slice]:
    for begin in range(0, count, size):
        yield slice(begin, min(begin + size, count))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
