"""Rows that are in both parts: a model that has seen a test row in training is judged too well by it."""

import logging

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from idbpd.datasets.table import TaskTable

logger = logging.getLogger(__name__)

# Tables with more numbers than this are not searched: hashing them would take longer than splitting them.
MOST_NUMBERS = 200_000_000


def shared_rows(table: TaskTable, train: NDArray[np.intp], test: NDArray[np.intp]) -> int:
    """How many test rows have the same features as a training row."""
    hashes = _hashes(table)
    return int(np.isin(hashes[test], hashes[train]).sum())


def say_duplicates(table: TaskTable, train: NDArray[np.intp], test: NDArray[np.intp]) -> None:
    """Warn where test rows are in the training part as well."""
    if len(table) * max(1, len(table.feature_names)) > MOST_NUMBERS:
        return
    shared = shared_rows(table, train, test)
    if shared:
        logger.warning(
            "%d of %d test rows have the same features as a training row: results on the test part are too good if "
            "these are copies; remove them, or name a column under 'group' that keeps them in one part",
            shared,
            len(test),
        )


def _hashes(table: TaskTable) -> NDArray[np.uint64]:
    if isinstance(table.features, tuple):
        frame = pd.DataFrame({column.name: column.values for column in table.features})
        return pd.util.hash_pandas_object(frame, index=False).to_numpy(np.uint64)
    parts = []
    for begin in range(0, len(table), 4096):
        block = table.dense_features(slice(begin, begin + 4096))
        block = block + np.float32(0)  # a negative zero is a zero
        parts.append(np.array([hash(row.tobytes()) for row in block], dtype=np.int64).view(np.uint64))
    return np.concatenate(parts)
