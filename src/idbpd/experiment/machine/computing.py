"""How this process computes: with how many threads, how exactly, and whether repeatably."""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

from idbpd.experiment.machine.thread_team import is_dynamic, most_threads, set_dynamic

# cuBLAS is repeatable only with a workspace of its own; it reads this when a device is first used.
CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}

# From so many numbers in the features on, a pass over them gains more by all cores than their waiting for each other
# costs: on two free cores 8 and 26 million took 0.7 times as long as on one (docs/performance.md).
LARGE = 10_000_000

# What may round products of float32 to TF32. torch.export fails once torch's newer names for this have been used.
_MAY_ROUND: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)


def threads_for(data: Iterable[Any], most: int) -> int:
    """All threads if some of these objects has a large table of features, else one: with one thread, digits are the
    same on machines with more cores.
    """
    shapes = (getattr(getattr(one, "features", None), "shape", ()) for one in data)
    return most if any(math.prod(shape) >= LARGE for shape in shapes) else 1


@contextmanager
def computing(threads: int | Literal["auto"], *, deterministic: bool) -> Iterator[None]:
    """Compute with so many threads (``auto``: as torch chose), and repeatably if asked; afterwards all is as before.

    The number is fixed for the whole run, whatever the load of the machine, and `torch.get_num_threads` tells it.

    float32 means float32: no product is rounded to TF32 (10 bits instead of 23), which torch does in convolutions on
    CUDA unless told otherwise. The solver allows for the rounding of float32, and takes more for a change of the value.
    """
    threads_before = torch.get_num_threads()
    mode_before = torch.get_deterministic_debug_mode()
    filling_before = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    environment_before = {name: os.environ.get(name) for name in CUBLAS}
    dynamic_before = is_dynamic()
    rounded_before = [products.allow_tf32 for products in _MAY_ROUND]
    for products in _MAY_ROUND:
        products.allow_tf32 = False
    set_dynamic(dynamic=False)
    wanted = threads_before if threads == "auto" else threads
    # This also keeps MKL from choosing a number of its own, so it is done for "auto", too.
    torch.set_num_threads(min(wanted, most_threads() or wanted))
    if deterministic:
        for name, value in CUBLAS.items():
            os.environ.setdefault(name, value)
        # As torch.use_deterministic_algorithms(True), which also sets an option of torch's compiler, and for that
        # imports it, for a second. Nothing here is compiled.
        torch.set_deterministic_debug_mode("error")
        # Torch would fill new memory to make bugs repeatable; it is written anyway, and filling costs time.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        set_dynamic(dynamic=dynamic_before)
        for products, rounded in zip(_MAY_ROUND, rounded_before, strict=True):
            products.allow_tf32 = rounded
        torch.set_deterministic_debug_mode(mode_before)
        torch.utils.deterministic.fill_uninitialized_memory = filling_before  # type: ignore[attr-defined]
        for name, before in environment_before.items():
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before
