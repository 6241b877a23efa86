"""A table of mostly zeros by rows: only its other numbers are kept, in memory or in a file that is mapped into memory.

Blocks of it are multiplied by scipy. Torch has no product with a transposed sparse table that does not sort it first:
of 4096 rows by 2000 columns with 7 % numbers that takes 45 ms, the product itself 5 ms.
"""

from typing import TypeAlias

import torch
from scipy.sparse import csr_array
from torch import Tensor

from idbpd.errors import ConfigurationError

ROWS_AT_A_TIME = 1 << 14  # for products of columns


class SparseRows:
    """Rows of a sparse table. A part of it is a dense tensor, for all that does not know of sparse tables."""

    def __init__(self, begins: Tensor, columns: Tensor, values: Tensor, width: int) -> None:
        """The numbers of row i are those from begins[i] up to begins[i + 1]; ``columns`` are int32."""
        self.begins, self.columns, self.values, self._width = begins, columns, values, width

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.begins) - 1

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return torch.Size((len(self), self._width))

    @property
    def device(self) -> torch.device:
        """The host."""
        return self.values.device

    @property
    def dtype(self) -> torch.dtype:
        """That of the numbers."""
        return self.values.dtype

    def numel(self) -> int:
        """The numbers with all zeros."""
        return len(self) * self._width

    def __getitem__(self, rows: slice | Tensor) -> Tensor:
        """Some rows with their zeros."""
        return torch.from_numpy(self.part(rows).toarray())

    def index_select(self, dim: int, rows: Tensor) -> Tensor:
        """The same, by the name that tensors have for it."""
        assert dim == 0
        return self[rows]

    def part(self, rows: slice | Tensor) -> csr_array:
        """Some rows, for products; a range of rows is not copied."""
        some = self.of_rows(rows)
        arrays = (some.values.numpy(), some.columns.numpy(), some.begins.int().numpy())
        return csr_array(arrays, shape=some.shape)

    def of_rows(self, rows: slice | Tensor) -> "SparseRows":
        """Some rows, sparse as they are."""
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(len(self))
            begins = self.begins[begin : end + 1]
            numbers = slice(int(begins[0]), int(begins[-1]))
            return SparseRows(begins - begins[0], self.columns[numbers], self.values[numbers], self._width)
        starts = self.begins[rows]
        counts = self.begins[rows + 1] - starts
        ends = counts.cumsum(0)
        places = torch.arange(int(counts.sum())) + (starts - ends + counts).repeat_interleave(counts)
        begins = torch.cat([ends.new_zeros(1), ends])
        return SparseRows(begins, self.columns[places], self.values[places], self._width)

    def to(self, device: torch.device, dtype: torch.dtype) -> "SparseRows":  # noqa: ARG002 - of blocks, when used
        """Itself: its numbers are converted block by block. Only the host computes with it."""
        if device.type != "cpu":
            raise ConfigurationError(
                f"compute.device = {device}: only the CPU computes with a table of mostly zeros that is larger than "
                "memory; set compute.device=cpu"
            )
        return self


def add_moments(table: SparseRows, rows: Tensor | None, moments: Tensor) -> None:
    """Add the products of every two columns, with one more column of ones, or of each with itself (one dimension)."""
    width = table.shape[1]
    for begin in range(0, len(table) if rows is None else len(rows), ROWS_AT_A_TIME):
        block = slice(begin, begin + ROWS_AT_A_TIME)
        part = table.part(block if rows is None else rows[block]).astype("float64")
        sums = torch.from_numpy(part.sum(axis=0))
        if moments.dim() == 1:
            moments[:width] += torch.from_numpy(part.power(2).sum(axis=0))
        else:
            moments[:width, :width] += torch.from_numpy((part.T @ part).toarray())
            moments[:width, width] += sums
            moments[width, :width] += sums
        moments[(width,) * moments.dim()] += part.shape[0]


# The features of a data set.
Features: TypeAlias = Tensor | SparseRows
