"""Make a table of features and targets from the columns of a CSV file, Parquet file or data frame."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from idbpd.datasets.table import Origin, TaskTable
from idbpd.datasets.tabular.column_names import GROUP_COLUMN, LABEL_PREFIX, require_column, require_names
from idbpd.datasets.tabular.decimal_sign import likely_decimal
from idbpd.datasets.tabular.feature_roles import IDENTIFIER, Judged, StatedRoles, judge, why_not
from idbpd.datasets.tabular.grouping_columns import grouping_columns, named_by_tasks
from idbpd.datasets.tabular.leaks import warn_of_leaks
from idbpd.datasets.tabular.targets import make_target, zeros_and_ones
from idbpd.datasets.tabular.task_block import TaskBlock
from idbpd.datasets.tabular.values import Reading, Values, values_of
from idbpd.errors import ConfigurationError, DataError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Roles:
    """What the block of the data set says about columns; the role of any other column follows from its values."""

    tasks: Sequence[TaskBlock] = ()
    labels: Sequence[str] = ()  # instead of tasks: 0/1 columns that a split divides into tasks
    group: str | None = None
    ignore: Sequence[str] = ()
    groups: Sequence[str] = ()  # for worst cases over groups, beside any other role
    features: StatedRoles = field(default_factory=StatedRoles)
    reading: Reading = field(default_factory=Reading)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that are to be predicted."""
        return (*(column for task in self.tasks for column in task.columns), *self.labels)

    def by_key(self) -> Mapping[str, Sequence[str]]:
        """The columns that each key of the block names."""
        return {
            "tasks" if self.tasks else "labels": self.targets,
            "ignore": self.ignore,
            "group": () if self.group is None else (self.group,),
            "categorical": self.features.categorical,
            "numeric": self.features.numeric,
            "dates": self.features.dates,
        }


def frame_to_table(frame: pd.DataFrame, origin: Origin) -> TaskTable:
    """Convert a data frame: columns ``label:<name>`` are labels, the column ``group`` names groups."""
    columns = frame_columns(frame, origin)
    names = columns.column_names
    roles = Roles(
        labels=[name for name in names if name.startswith(LABEL_PREFIX)],
        group=GROUP_COLUMN if GROUP_COLUMN in names else None,
    )
    return columns_to_table(columns, roles, origin)


def frame_columns(frame: pd.DataFrame, origin: Origin) -> pa.Table:
    """The columns of a data frame, as those of a file."""
    names = [str(name) for name in frame.columns]
    require_names(names, origin)
    return pa.table({name: _arrow(frame.iloc[:, at]) for at, name in enumerate(names)})


def columns_to_table(columns: pa.Table, roles: Roles, origin: Origin) -> TaskTable:
    """Read the columns, give each its role, and check them; an error names the place of the first bad value."""
    names = columns.column_names
    require_names(names, origin)
    check_roles(roles, names, origin)
    if columns.num_rows == 0:
        raise DataError(f"{origin.name}: the table has columns but no rows")
    roles = replace(roles, reading=replace(roles.reading, likely_decimal=likely_decimal(columns, roles.reading)))
    targets = {name: values_of(columns[name], name, roles.reading) for name in roles.targets}
    made = tuple(make_target(block, targets, origin) for block in roles.tasks)
    labels, label_names = _labels(roles.labels, targets, columns.num_rows, origin)
    rows = _rows_that_are_no_copies(columns)
    judged = _features(columns, roles, origin, rows)
    feature_names = tuple(column.name for column in judged.features)
    require_names([*feature_names, *label_names], origin)  # a column x and a column label:x, say
    warn_of_leaks(judged.features, made, rows)
    table = TaskTable(
        features=judged.features,
        feature_names=feature_names,
        labels=labels,
        label_names=label_names,
        groups=None if roles.group is None else group_codes(columns[roles.group], roles.group, roles.reading),
        origin=origin,
        targets=made,
        label_kind="labels",
        identifiers=_identifiers(columns, roles, judged, rows),
        grouping=grouping_columns(
            columns, dict.fromkeys([*roles.groups, *named_by_tasks(roles.tasks, names)]), roles.reading
        ),
    )
    predicted = [name for name in table.grouping if name in roles.targets]
    if predicted:
        logger.warning(
            "groups are made of %s, which a task predicts: they are classes, and nobody knows the group of a new row",
            ", ".join(repr(name) for name in predicted),
        )
    _say_duplicates(table)
    return table


def check_roles(roles: Roles, names: Sequence[str], origin: Origin) -> None:
    """Every column that is named must be there, and have one role."""
    role_of: dict[str, str] = {}
    for name in roles.groups:
        require_column(name, names, origin)
    for key, columns in roles.by_key().items():
        for name in columns:
            require_column(name, names, origin)
            before = role_of.setdefault(name, key)
            if before != key:
                raise ConfigurationError(f"{origin.name}: column {name!r} is under {before!r} and under {key!r}")


def _features(columns: pa.Table, roles: Roles, origin: Origin, rows: NDArray[np.intp]) -> Judged:
    special = {*roles.targets, *roles.ignore, roles.group}
    values = [values_of(columns[name], name, roles.reading) for name in columns.column_names if name not in special]
    judged = judge(values, roles.features, origin, rows)
    if not judged.features:
        told = ", ".join(f"{name} ({reason})" for name, reason in judged.left_out.items())
        raise DataError(f"{origin.name}: no column is left to predict from" + (f"; left out: {told}" if told else ""))
    return judged


def _identifiers(columns: pa.Table, roles: Roles, judged: Judged, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """The columns that name a row, those that people ignore because they do included; in the order of the file."""
    named = {
        name
        for name in (*roles.ignore, *([] if roles.group is None else [roles.group]))
        if why_not(values_of(columns[name], name, roles.reading).of_rows(rows)) == IDENTIFIER
    }
    found = named | set(judged.identifiers)
    return tuple(name for name in columns.column_names if name in found)


def _labels(
    names: Sequence[str], columns: Mapping[str, Values], rows: int, origin: Origin
) -> tuple[NDArray[np.int8], tuple[str, ...]]:
    shown = tuple(name.removeprefix(LABEL_PREFIX) for name in names)
    matrix = np.empty((rows, len(names)), dtype=np.int8)
    for at, name in enumerate(names):
        values = zeros_and_ones(columns[name], origin, f"label {shown[at]!r}")
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            raise DataError(
                f"{origin.of(missing[0])}: label {shown[at]!r} is missing; labels may have gaps if they are under "
                "'tasks' instead of 'labels'"
            )
        matrix[:, at] = values
    return matrix, shown


def group_codes(column: pa.ChunkedArray, name: str, reading: Reading) -> NDArray[np.int64]:
    """The group of every row as a number; a row without one is a group of its own."""
    codes, words = values_of(column, name, reading).distinct
    groups = codes.astype(np.int64)
    alone = np.flatnonzero(groups < 0)
    groups[alone] = len(words) + np.arange(len(alone))  # nothing is known to belong to such a row
    if len(alone):
        logger.info("group %r is missing in %d rows; each is a group of its own", name, len(alone))
    return groups


def _rows_that_are_no_copies(columns: pa.Table) -> NDArray[np.intp]:
    """The first of all rows that are the same in every column of the file."""
    codes: dict[int, NDArray[np.int32]] = {}
    for at, column in enumerate(columns.columns):
        kind = column.type
        if not pa.types.is_nested(kind):  # Arrow does not compare lists
            plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
            encoded = plain.combine_chunks().dictionary_encode("encode")
            codes[at] = encoded.indices.to_numpy(zero_copy_only=False)
    if not codes:
        return np.arange(columns.num_rows)
    return np.flatnonzero(~pd.DataFrame(codes).duplicated().to_numpy())


def _say_duplicates(table: TaskTable) -> None:
    assert isinstance(table.features, tuple)
    parts: list[NDArray[Any]] = [column.values for column in table.features]
    parts += [*table.labels.T, *(column for target in table.targets for column in target.values.T)]
    copies = int(pd.DataFrame(dict(enumerate(parts))).duplicated().sum())
    if copies:
        logger.info("%d of %d rows are exact copies of an earlier row", copies, len(table))


def _arrow(series: "pd.Series[Any]") -> pa.ChunkedArray:
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError):  # numbers and texts in one column
        array = pa.array(
            [None if missing else str(value) for value, missing in zip(series, series.isna(), strict=True)]
        )
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
