"""Whether a sparse table fits into memory with its zeros, which is how a network is trained on it."""

import os

from scipy.sparse import csr_array

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError

COPIES = 3  # of the numbers: as they are read, in float64 while they are scaled, and scaled


def require_room(table: TaskTable) -> None:
    """A `DataError` where the numbers of a sparse table, four bytes each, are more than this machine can hold."""
    memory = _memory()
    if not isinstance(table.features, csr_array) or memory is None:
        return
    rows, columns = table.features.shape
    needed = 4 * rows * columns
    if COPIES * needed > memory:
        raise DataError(
            f"{table.origin.name} has {rows} x {columns} features, most of them zero. For training they become a table "
            f"with its zeros of {needed / 1e9:.1f} GB, {COPIES} times for a while, and this machine has "
            f"{memory / 1e9:.1f} GB; leave out rare columns, or give it a sample of the rows"
        )


def _memory() -> float | None:
    """The memory of this machine in bytes; None where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None
