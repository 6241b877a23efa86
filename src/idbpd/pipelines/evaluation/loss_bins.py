"""Bins of a histogram of losses that shows something, however far the losses are spread."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BINS = 50
# With the largest loss so many times the median, equal bins would have nearly all samples in the first.
SPREAD = 20.0
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


def loss_bins(losses: NDArray[np.float64]) -> LossBins:
    """Equal bins from zero or, where losses are spread over decades, logarithmic ones."""
    finite = losses[np.isfinite(losses)]
    positive = finite[finite > 0]
    if not len(positive):
        return LossBins(np.linspace(0, 1, BINS + 1), "linear")
    largest = float(positive.max())
    if largest <= SPREAD * float(np.median(finite)):
        return LossBins(np.linspace(0, largest, BINS + 1), "linear")
    smallest = max(float(np.quantile(positive, SMALLEST)), largest * 10.0**-DECADES)
    edges = np.geomspace(min(smallest, largest / SPREAD), largest, BINS + 1)
    return LossBins(edges, "log")
