"""How many threads a parallel sum really gets: it decides how the sum is split, and so its last digits.

Torch asks OpenMP for as many threads as `torch.get_num_threads` says, but OpenMP may give fewer, and nobody is told:
with ``OMP_DYNAMIC=true`` as many as the load of the machine leaves, and never more than ``OMP_THREAD_LIMIT``.
"""

import ctypes
from functools import cache
from pathlib import Path

import torch


@cache
def _openmp() -> ctypes.CDLL | None:
    """The OpenMP library that torch has loaded; None where it has none of its own."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("lib*omp*.so*")):
        library = ctypes.CDLL(str(path))
        if hasattr(library, "omp_set_dynamic"):
            return library
    return None


def is_dynamic() -> bool:
    """Whether OpenMP may give fewer threads than it is asked for, by the load of the machine."""
    library = _openmp()
    return library is not None and bool(library.omp_get_dynamic())


def set_dynamic(*, dynamic: bool) -> None:
    """Let OpenMP give fewer threads by the load of the machine, or not."""
    library = _openmp()
    if library is not None:
        library.omp_set_dynamic(int(dynamic))


def most_threads() -> int | None:
    """How many threads OpenMP gives at most; None where that is not known."""
    library = _openmp()
    if library is None:
        return None
    limit: int = library.omp_get_thread_limit()
    return limit
