"""Bins for a histogram of losses that can be read however far the losses are spread."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BINS, FEWEST_BINS = 50, 12  # for many samples, and for few
# With the largest loss so many times the median, equal bins would have nearly all samples in the first.
SPREAD = 20.0
# With all losses within this share of the largest, bins from zero would be empty but for the last ones.
NARROW = 0.25
# Logarithmic bins begin where this share of the losses is smaller, and span no more than these decades.
SMALLEST, DECADES = 0.01, 6


@dataclass(frozen=True)
class LossBins:
    """The edges of the bins, and the scale on which they have equal widths."""

    edges: NDArray[np.float64]
    scale: Literal["linear", "log"]

    def placed(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The finite losses, each within the edges: what is smaller or larger belongs to the outermost bin."""
        return losses[np.isfinite(losses)].clip(self.edges[0], self.edges[-1])


def loss_bins(losses: NDArray[np.float64], also: Iterable[float] = ()) -> LossBins:
    """Equal bins from zero; from the least loss where all are nearly the same; logarithmic where they span decades.

    ``also`` are further numbers on the axis, such as a limit: those that are near are between the edges.
    """
    finite = losses[np.isfinite(losses)]
    bins = int(min(max(FEWEST_BINS, 2 * len(finite) ** 0.5), BINS))
    if not len(finite):
        return LossBins(np.linspace(0, 1, bins + 1), "linear")
    least, largest, median = float(finite.min()), float(finite.max()), float(np.median(finite))
    if largest > 0 and largest > SPREAD * median:
        positive = finite[finite > 0]
        smallest = max(float(np.quantile(positive, SMALLEST)), largest * 10.0**-DECADES)
        return LossBins(np.geomspace(min(smallest, largest / SPREAD), largest, bins + 1), "log")
    if largest - least > NARROW * abs(largest):
        return LossBins(np.linspace(min(0.0, least), largest, bins + 1), "linear")
    span = largest - least
    near = 3 * span if span > 0 else NARROW * abs(median)
    reach = [least, largest, *(value for value in also if abs(value - median) <= near)]
    # Equal losses have a bin of their own in the middle; a neighbourhood of zero width would have none.
    margin = 0.1 * (max(reach) - min(reach)) or 0.01 * abs(largest) or 1e-12
    return LossBins(np.linspace(min(reach) - margin, max(reach) + margin, bins + 1), "linear")
