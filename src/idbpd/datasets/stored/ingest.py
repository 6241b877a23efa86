"""Make a table of features and targets from Parquet files that are larger than memory: one column at a time.

Targets are read whole. Of the features only their roles are kept; their values stay in the files.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from idbpd.datasets.stored.columns import StoredColumn, StoredColumns, as_numbers, codes_of, is_text
from idbpd.datasets.stored.parquet_rows import ParquetRows
from idbpd.datasets.table import Column, Origin, Role, TaskTable
from idbpd.datasets.tabular.column_names import listed_names, require_names
from idbpd.datasets.tabular.columns import Roles, check_roles, group_codes
from idbpd.datasets.tabular.feature_roles import IDENTIFIER, why_not
from idbpd.datasets.tabular.grouping_columns import grouping_columns, named_by_tasks
from idbpd.datasets.tabular.leaks import warn_of_leaks
from idbpd.datasets.tabular.targets import make_target
from idbpd.datasets.tabular.values import Reading, Values, values_of
from idbpd.errors import ConfigurationError, DataError

logger = logging.getLogger(__name__)

# Rows from everywhere in the table that are searched for columns that give a target away.
SAMPLE, NUMBERS = 50_000, 1 << 23  # fewer of a table with many columns: at most so many numbers
# A column of texts with more different values is left out: their list alone would fill the memory.
MOST_CATEGORIES = 100_000
LARGEST = float(np.finfo(np.float32).max)


def stored_table(rows: ParquetRows, roles: Roles, digests: Path | None) -> TaskTable:
    """The table with its targets in memory and its features in the files."""
    names, origin = rows.schema.names, Origin(rows.name)
    require_names(names, origin)
    check_roles(roles, names, origin)
    if not roles.tasks:
        raise ConfigurationError(f"{rows.name}: a table that is larger than memory needs 'tasks' in its block")
    if len(rows) == 0:
        raise DataError(f"{rows.name}: the table has columns but no rows")
    values = {name: values_of(rows.column(name), name, roles.reading) for name in roles.targets}
    targets = tuple(make_target(block, values, origin) for block in roles.tasks)
    del values
    found = _Features(rows, roles, origin)
    special = {*roles.targets, *roles.ignore, roles.group}
    for name in names:
        if name not in special:
            found.add(name)
    found.say()
    sample = _sample(rows)
    warn_of_leaks(found.sampled, [target.of_rows(sample) for target in targets], np.arange(len(sample)))
    wanted = dict.fromkeys([*roles.groups, *named_by_tasks(roles.tasks, names)])
    grouping = grouping_columns(pa.table({name: rows.column(name) for name in wanted}), wanted, roles.reading)
    features = StoredColumns(
        rows, tuple(found.columns), tuple(roles.reading.missing), tuple(roles.reading.not_missing), digests
    )
    return TaskTable(
        features=features,
        feature_names=tuple(features.names),
        labels=np.empty((len(rows), 0), dtype=np.int8),
        label_names=(),
        groups=None if roles.group is None else group_codes(rows.column(roles.group), roles.group, roles.reading),
        origin=origin,
        targets=targets,
        label_kind="labels",
        identifiers=tuple(name for name in names if name in found.identifiers),
        grouping=grouping,
    )


class _Features:
    """The roles of columns that are looked at one after the other."""

    def __init__(self, rows: ParquetRows, roles: Roles, origin: Origin) -> None:
        self._rows, self._roles, self._origin = rows, roles, origin
        self._sample = _sample(rows)
        self.columns: list[StoredColumn] = []
        self.sampled: list[Column] = []
        self.left_out: dict[str, str] = {}

    @property
    def identifiers(self) -> set[str]:
        return {name for name, reason in self.left_out.items() if reason == IDENTIFIER}

    def add(self, name: str) -> None:
        array, wishes = self._rows.column(name), self._roles.features
        if is_text(array.type):
            if name in (*wishes.numeric, *wishes.dates):
                raise ConfigurationError(
                    f"{self._origin.name}: column {name!r} holds texts; in a table that is larger than memory, numbers "
                    "and dates must have such a type in the Parquet file"
                )
            self._add_texts(name, array)
            return
        values = values_of(array, name, self._roles.reading)
        wished = name in (*wishes.categorical, *wishes.numeric, *wishes.dates)
        reason = None if wished and values.content not in ("nothing", "unreadable") else why_not(values)
        if reason is not None:
            self.left_out[name] = reason
            return
        if name in wishes.categorical or (values.content == "boolean" and name not in wishes.numeric):
            codes, words = values.distinct
            self._keep(name, "category", codes, words)
            return
        role: Role = "date" if values.content == "date" else "number"
        numbers = as_numbers(values)
        self._require_finite(name, numbers)
        self._keep(name, role, numbers, ())

    def say(self) -> None:
        counts = {role: sum(column.role == role for column in self.columns) for role in ("number", "category", "date")}
        told = ", ".join(f"{count} of role {role}" for role, count in counts.items() if count)
        if not self.columns:
            raise DataError(f"{self._origin.name}: no column is left to predict from")
        out = listed_names([f"{name} ({reason})" for name, reason in self.left_out.items()])
        logger.info(
            "features: %s%s; the table is larger than memory: it stays in its file, rows that are copies of others are "
            "not searched",
            told,
            f"; left out: {out}" if out else "",
        )

    def _add_texts(self, name: str, array: pa.ChunkedArray) -> None:
        words = _words(array, self._roles.reading)
        if words is None or len(words) > MOST_CATEGORIES:
            self.left_out[name] = f"more than {MOST_CATEGORIES} different texts"
        elif not words:
            self.left_out[name] = "no values"
        else:
            codes = codes_of(array, words, self._roles.reading)
            judged = Values(name, "text", coded=(codes, tuple(words)))
            reason = None if name in self._roles.features.categorical else why_not(judged)
            if reason is not None:
                self.left_out[name] = reason
            else:
                self._keep(name, "category", codes, words)

    def _keep(
        self, name: str, role: Role, values: NDArray[np.float64] | NDArray[np.int32], words: Sequence[str]
    ) -> None:
        filled = np.count_nonzero(np.nan_to_num(values)) / len(values) if role == "number" else 1.0
        self.columns.append(StoredColumn(name, role, tuple(words), float(filled)))
        self.sampled.append(Column(name, role, values[self._sample], tuple(words)))

    def _require_finite(self, name: str, numbers: NDArray[np.float64]) -> None:
        wrong = np.flatnonzero(np.abs(numbers) > LARGEST)
        if len(wrong):
            value = numbers[wrong[0]]
            found = "infinite" if np.isinf(value) else f"{value:g}, which is too large"
            raise DataError(f"{self._origin.of(int(wrong[0]))}: feature {name!r} is {found}; numbers must be finite")


def _words(array: pa.ChunkedArray, reading: Reading) -> list[str] | None:
    """The different texts in the order of the alphabet, without those for a missing value; None: too many to list."""
    found = pa.array([], pa.string())
    for chunk in array.chunks:
        plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
        here = pc.unique(pc.utf8_trim_whitespace(pc.cast(plain, pa.string())))
        found = pc.unique(pa.concat_arrays([found, here]))
        if len(found) > 2 * MOST_CATEGORIES:
            return None
    return sorted(word for word in found.to_pylist() if word is not None and word not in reading.absent)


def _sample(rows: ParquetRows) -> NDArray[np.intp]:
    count = min(SAMPLE, NUMBERS // max(1, len(rows.schema.names)), len(rows))
    return np.unique(np.linspace(0, len(rows) - 1, max(count, 1)).astype(np.intp))
