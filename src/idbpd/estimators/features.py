"""From X to a table, and to the features that a network takes.

A data frame is read as a file with the same columns is: numbers, categories and dates, with gaps. An array is numbers.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from idbpd.datasets.table import Matrix, Origin, Target, TaskTable
from idbpd.datasets.tabular.columns import Roles, columns_to_table, frame_columns
from idbpd.datasets.tabular.leaks import warn_of_leaks
from idbpd.errors import DataError
from idbpd.experiment.features import encode, encoded

LARGEST = float(np.finfo(np.float32).max)


def table_of(X: Any, targets: tuple[Target, ...]) -> TaskTable:
    """The table of these features and targets."""
    if isinstance(X, pd.DataFrame):
        table = columns_to_table(frame_columns(X, Origin("X")), Roles(), Origin("X"))
        assert isinstance(table.features, tuple)  # columns of any kind
        warn_of_leaks(table.features, targets, np.arange(len(table)))
        return replace(table, targets=targets)
    return _of_matrix(X, targets)


def features_of(X: Any, encoding: Mapping[str, Any]) -> NDArray[np.float64]:
    """The features of rows to predict, which come as those of the training did: in a data frame or in an array."""
    if isinstance(X, pd.DataFrame):
        return encode(X.set_axis([str(name) for name in X.columns], axis=1), encoding).matrix
    return encoded(_of_matrix(X, ()), np.arange(X.shape[0]), encoding).astype(np.float64)


def _of_matrix(X: Any, targets: tuple[Target, ...]) -> TaskTable:
    rows, columns = X.shape
    return TaskTable(
        features=_float32(X),
        feature_names=tuple(f"x{at}" for at in range(columns)),
        labels=np.zeros((rows, 0), dtype=np.int8),
        label_names=(),
        targets=targets,
        origin=Origin("X"),
    )


def _float32(X: Any) -> Matrix:
    """Networks compute in float32."""
    largest = np.nanmax(np.abs(X.data if issparse(X) else X), initial=0.0)
    if largest > LARGEST:
        raise DataError(f"X has the value {largest:g}, which is too large: at most {LARGEST:g}")
    return csr_array(X, dtype=np.float32) if issparse(X) else np.array(X, dtype=np.float32)
