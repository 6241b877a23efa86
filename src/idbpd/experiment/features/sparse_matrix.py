"""Scale a sparse table without its zeros: its features are numbers without gaps, and a zero stays a zero."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from idbpd.errors import DataError
from idbpd.mtl import FeatureScaling
from idbpd.mtl.scaling import Kind

Rows = NDArray[np.intp]
ROWS_AT_A_TIME = 1 << 16


def fit_sparse(features: csr_array, rows: Rows, kind: Kind, name: str) -> FeatureScaling:
    """The scaling of `idbpd.mtl.fit_scaling`, learnt from some rows; a `DataError` where zeros would be moved."""
    if kind not in ("maximum", "none"):
        raise DataError(
            f"features.scaling = {kind} moves the zeros of {name}, which does not fit into memory with them; set "
            "features.scaling=maximum"
        )
    if np.isnan(features.data).any():
        raise DataError(
            f"{name} has gaps, and does not fit into memory with its zeros; write a zero, or leave the cell out, where "
            "a number is missing"
        )
    scale = torch.ones(features.shape[1])
    if kind == "maximum":
        largest = torch.from_numpy(abs(features[rows]).max(axis=0).toarray().ravel())
        scale = torch.where(largest > 0, largest, scale)
    return FeatureScaling(torch.zeros(features.shape[1]), scale)


@dataclass(frozen=True)
class SparseBlocks:
    """The scaled features of some rows of a sparse table, in their order."""

    features: csr_array
    rows: Rows
    scaling: FeatureScaling
    is_sparse: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.rows), self.features.shape[1]

    def blocks(self) -> Iterator[csr_array]:
        """Some rows at a time."""
        scale = self.scaling.scale.numpy()
        for begin in range(0, len(self.rows), ROWS_AT_A_TIME):
            part = self.features[self.rows[begin : begin + ROWS_AT_A_TIME]]
            yield csr_array((part.data / scale[part.indices], part.indices, part.indptr), shape=part.shape)
