"""Marks that say, in a later table, which of its rows a model was trained on.

When a table grows, its rows are divided anew. Rows of the new test part may then be rows that the model in use was
trained on, and its losses there are too low.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from idbpd.datasets.table import StoredFeatures, TaskTable

ROWS_AT_ONCE = 1024
MARKS, COLUMNS = "marks", "columns"


def seen_rows(table: TaskTable, rows: NDArray[np.intp]) -> dict[str, Tensor]:
    """The marks of some rows, each once, and a mark of the columns that they were made of.

    A mark is 64 bits of a row's features. Targets are no part of it: a row whose target was corrected was seen, too.
    """
    marks = np.unique(_marks(table, rows))
    return {MARKS: torch.from_numpy(marks), COLUMNS: torch.tensor([_columns(table)])}


def are_seen(table: TaskTable, rows: NDArray[np.intp], seen: Mapping[str, Tensor] | None) -> NDArray[np.bool_] | None:
    """Which of the rows have the mark of a seen row; None where nobody knows: no marks, or those of other columns."""
    if seen is None or int(seen[COLUMNS][0]) != _columns(table):
        return None
    found: NDArray[np.bool_] = np.isin(_marks(table, rows), seen[MARKS].numpy())
    return found


def _marks(table: TaskTable, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    if isinstance(table.features, StoredFeatures):
        return np.concatenate([_hashed(frame) for frame in _frames(table.features, rows)])
    if isinstance(table.features, tuple):
        # By the texts of categories: their numbers change when a new one appears.
        return _hashed(table.frame(rows))
    blocks = [rows[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(rows), ROWS_AT_ONCE)]
    # A negative zero is a zero.
    digests = [_digest((row + np.float32(0)).tobytes()) for block in blocks for row in table.dense_features(block)]
    return np.array(digests, dtype=np.int64)


def _hashed(frame: pd.DataFrame) -> NDArray[np.int64]:
    return pd.util.hash_pandas_object(frame, index=False).to_numpy(np.uint64).view(np.int64)


def _frames(features: StoredFeatures, rows: NDArray[np.intp]) -> Iterator[pd.DataFrame]:
    """Rows in ascending order, a block at a time."""
    for begin, columns in features.blocks():
        first, last = np.searchsorted(rows, [begin, begin + len(columns[0].values)])
        yield pd.DataFrame({column.name: column.series(rows[first:last] - begin) for column in columns})


def _columns(table: TaskTable) -> int:
    features = table.features
    if isinstance(features, StoredFeatures):
        roles = [role for _, role in features.roles()]
    else:
        roles = [column.role for column in features] if isinstance(features, tuple) else []
    return _digest(json.dumps([table.feature_names, roles]).encode())


def _digest(content: bytes) -> int:
    """The same in every process, unlike Python's own hash."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little", signed=True)
