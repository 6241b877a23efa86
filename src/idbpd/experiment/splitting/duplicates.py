"""Rows that are in both parts: a model that has seen a test row in training is judged too well by it."""

import logging
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from idbpd.datasets.table import StoredFeatures, TaskTable

logger = logging.getLogger(__name__)

# Tables with more numbers than this are not searched: hashing them would take longer than splitting them.
MOST_NUMBERS = 200_000_000
ROWS_AT_ONCE = 4096


def shared_rows(table: TaskTable, train: NDArray[np.intp], test: NDArray[np.intp]) -> int:
    """How many test rows are copies of a training row, targets included."""
    hashes = _hashes(table)
    return int(np.isin(hashes[test], hashes[train]).sum())


def say_duplicates(table: TaskTable, train: NDArray[np.intp], test: NDArray[np.intp]) -> None:
    """Warn where test rows are in the training part as well."""
    if isinstance(table.features, StoredFeatures) or len(table) * max(1, len(table.feature_names)) > MOST_NUMBERS:
        return
    shared = shared_rows(table, train, test)
    if shared:
        logger.warning(
            "%d of %d test rows are exact copies of a training row: results on the test part are too good if they are "
            "the same sample twice; remove them, or name a column under 'group' that keeps copies in one part",
            shared,
            len(test),
        )


def _hashes(table: TaskTable) -> NDArray[np.uint64]:
    targets = np.hstack([table.labels, *(target.values for target in table.targets)]).astype(np.float32)
    if isinstance(table.features, tuple):
        frame = pd.DataFrame({at: column.values for at, column in enumerate(table.features)})
        features: NDArray[Any] = pd.util.hash_pandas_object(frame, index=False).to_numpy()[:, None]
        return _row_hashes(features) ^ _row_hashes(targets)
    blocks = [slice(begin, begin + ROWS_AT_ONCE) for begin in range(0, len(table), ROWS_AT_ONCE)]
    return np.concatenate([_row_hashes(table.dense_features(block)) for block in blocks]) ^ _row_hashes(targets)


def _row_hashes(rows: NDArray[Any]) -> NDArray[np.uint64]:
    rows = rows + rows.dtype.type(0)  # a negative zero is a zero
    return np.array([hash(row.tobytes()) for row in rows], dtype=np.int64).view(np.uint64)
