"""Losses by the names that ``problem.loss`` takes. A new loss is a file in this folder and a line in `LOSSES`."""

from collections.abc import Callable

from idbpd.mtl.losses.cross_entropy import CrossEntropy
from idbpd.mtl.losses.protocol import Loss

LOSSES: dict[str, Callable[..., Loss]] = {
    "cross_entropy": CrossEntropy,
}

__all__ = ["LOSSES", "CrossEntropy", "Loss"]
