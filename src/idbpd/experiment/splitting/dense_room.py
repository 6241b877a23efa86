"""Whether a sparse table fits into memory with its zeros, which is how a network is trained on it."""

import os

from scipy.sparse import csr_array

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError

COPIES = 3  # of the numbers: as they are read, in float64 while they are scaled, and scaled


def has_room(table: TaskTable) -> bool:
    """Whether the numbers of a table, four bytes each, are not sparse or fit into this machine with their zeros."""
    memory = _memory()
    return memory is None or not isinstance(table.features, csr_array) or COPIES * _needed(table) <= memory


def require_room(table: TaskTable, why: str = "") -> None:
    """A `DataError` where `has_room` is not true; ``why`` is a clause that says what needs the zeros."""
    memory = _memory()
    if has_room(table) or memory is None:
        return
    rows, columns = table.features.shape if isinstance(table.features, csr_array) else (0, 0)
    raise DataError(
        f"{table.origin.name} has {rows} x {columns} features, most of them zero{why}. With its zeros it is a table of "
        f"{_needed(table) / 1e9:.1f} GB, {COPIES} times for a while, and this machine has {memory / 1e9:.1f} GB; leave "
        "out rare columns, or give it a sample of the rows"
    )


def _needed(table: TaskTable) -> float:
    return 4.0 * len(table) * len(table.feature_names)


def _memory() -> float | None:
    """The memory of this machine in bytes; None where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None
