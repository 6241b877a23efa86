"""Ask the system to read the rows that come next, while the present ones are worked on."""

import ctypes
import mmap
from functools import cache

from torch import Tensor

AHEAD = 16 << 20  # bytes: the disk is busy while some blocks are multiplied
WILL_NEED: int = getattr(mmap, "MADV_WILLNEED", -1)  # not on every system


def read_ahead(table: Tensor, begin: int, end: int) -> None:
    """Announce the bytes after those from ``begin`` to ``end`` of a tensor that may be a file mapped into memory.

    Never waits, never fails. Once for every `AHEAD` bytes. For memory that is no file it does nothing.
    """
    if WILL_NEED < 0 or table.device.type != "cpu" or not table.is_contiguous():
        return
    if begin // AHEAD == end // AHEAD and begin > 0:
        return
    first = (end // AHEAD + 1) * AHEAD if begin > 0 else 0
    last = min(first + AHEAD if begin > 0 else 2 * AHEAD, table.nbytes)
    if first < last:
        advise(table.data_ptr() + first, last - first)


def advise(address: int, length: int) -> None:
    """Tell the system that these bytes of memory will be needed."""
    page = mmap.PAGESIZE
    start = address // page * page
    _libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(length + address - start), ctypes.c_int(WILL_NEED))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
