"""Convert the columns of a CSV file, Parquet file or data frame into a multi-label table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from idbpd.datasets.table import Origin, TaskTable
from idbpd.errors import ConfigurationError, DataError

Number = TypeVar("Number", np.float32, np.int8)

LABEL_PREFIX = "label:"
GROUP_COLUMN = "group"


@dataclass(frozen=True)
class Roles:
    """The roles of a table's columns; a column without a role is a feature."""

    labels: Sequence[str]
    tasks: Mapping[str, Sequence[str]] | None = None  # the labels by task, the most important task first
    group: str | None = None
    categorical: Sequence[str] = field(default_factory=tuple)  # become one 0/1 feature per value
    ignore: Sequence[str] = field(default_factory=tuple)


def frame_to_table(frame: pd.DataFrame, origin: Origin) -> TaskTable:
    """Convert a data frame: columns ``label:<name>`` are labels, the column ``group`` names groups."""
    names = [str(name) for name in frame.columns]
    roles = Roles(
        labels=[name for name in names if name.startswith(LABEL_PREFIX)],
        group=GROUP_COLUMN if GROUP_COLUMN in names else None,
    )
    require_names(names, origin)
    columns = pa.Table.from_pandas(frame.set_axis(names, axis=1), preserve_index=False)
    return columns_to_table(columns, roles, origin)


def columns_to_table(columns: pa.Table, roles: Roles, origin: Origin) -> TaskTable:
    """Convert columns to numbers; an error names the place of the first value that is not a number."""
    names = columns.column_names
    require_names(names, origin)
    if columns.num_rows == 0:
        raise DataError(f"{origin.name}: the table has columns but no rows")
    special = [*roles.labels, *roles.ignore, *([roles.group] if roles.group is not None else [])]
    for name in [*special, *roles.categorical]:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; its columns are {listed_names(names)}"
            raise ConfigurationError(f"{origin.name} has no column {name!r}{hint}")
    features, feature_names = list[NDArray[np.float32]](), list[str]()
    for name in names:
        if name in roles.categorical and name not in special:
            for category, indicator in _indicators(columns[name], name, origin):
                features.append(indicator)
                feature_names.append(f"{name}={category}")
        elif name not in special:
            features.append(_numbers(columns[name], name, origin))
            feature_names.append(name)
    labels = [_label(columns[name], name, origin) for name in roles.labels]
    label_names = _shown(roles.labels)
    require_names([*feature_names, *label_names], origin)  # a column x and a column label:x, say
    tasks = roles.tasks
    return TaskTable(
        features=_stacked(features, columns.num_rows, np.float32),
        feature_names=tuple(feature_names),
        labels=_stacked(labels, columns.num_rows, np.int8),
        label_names=label_names,
        groups=None if roles.group is None else _groups(columns[roles.group], roles.group, origin),
        tasks=None if tasks is None else {task: _shown(members) for task, members in tasks.items()},
        origin=origin,
    )


def require_names(names: Sequence[str], origin: Origin) -> None:
    """Raise a `DataError` if a column has no name or two columns have the same name."""
    first: dict[str, int] = {}
    for at, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(f"{origin.name}: column {at} has no name")
        if "\n" in name or "\r" in name:
            raise DataError(f"{origin.name}: the name of column {at} spans several lines; is a quote missing?")
        if name in first:
            raise DataError(f"{origin.name}: columns {first[name]} and {at} are both named {name!r}")
        first[name] = at


def listed_names(names: Sequence[str]) -> str:
    """At most ten names and the number of the others, for error messages."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _shown(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(label.removeprefix(LABEL_PREFIX) for label in labels)


def _numbers(column: pa.ChunkedArray, name: str, origin: Origin) -> NDArray[np.float32]:
    kind = column.type
    if pa.types.is_boolean(kind) or _is_number(kind):
        # Values too large for float32 become infinite here; the check for finite features reports them.
        with np.errstate(over="ignore"):
            values: NDArray[np.float32] = pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float32)
        return values
    if pa.types.is_null(kind):
        raise DataError(f"{origin.name}: feature {name!r} has no values; leave it out with ignore: [{name}]")
    row = _first_non_number(column)
    raise DataError(
        f"{origin.of(row)}: feature {name!r} is {column[row].as_py()!r}, which is not a number; list the column under "
        "'categorical' (a feature per value) or 'ignore'"
    )


def _label(column: pa.ChunkedArray, name: str, origin: Origin) -> NDArray[np.int8]:
    shown = name.removeprefix(LABEL_PREFIX)
    if column.null_count:
        raise DataError(f"{origin.of(_first(pc.is_null(column)))}: label {shown!r} is missing; a label is 0 or 1")
    kind = column.type
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.int8())
    elif not _is_number(kind):
        row = next((at for at, value in enumerate(column.to_pylist()) if str(value) not in ("0", "1")), 0)
        raise DataError(f"{origin.of(row)}: label {shown!r} is {column[row].as_py()!r}; a label is 0 or 1")
    values = pc.cast(column, pa.float64(), safe=False).to_numpy()
    wrong = np.flatnonzero(~np.isin(values, (0, 1)))
    if len(wrong):
        raise DataError(f"{origin.of(wrong[0])}: label {shown!r} is {values[wrong[0]]:g}; a label is 0 or 1")
    return np.asarray(values, dtype=np.int8)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _indicators(column: pa.ChunkedArray, name: str, origin: Origin) -> list[tuple[str, NDArray[np.float32]]]:
    """A column of 0 and 1 per value, values in sorted order."""
    if column.null_count:
        raise DataError(f"{origin.of(_first(pc.is_null(column)))}: feature {name!r} is missing")
    encoded = column.combine_chunks().dictionary_encode()
    texts = [str(value) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return [(texts[code], (codes == code).astype(np.float32)) for code in order]


def _groups(column: pa.ChunkedArray, name: str, origin: Origin) -> NDArray[np.int64]:
    if column.null_count:
        raise DataError(f"{origin.of(_first(pc.is_null(column)))}: the group {name!r} is missing")
    codes: NDArray[np.int64] = column.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def _first_non_number(column: pa.ChunkedArray) -> int:
    for row, value in enumerate(column.to_pylist()):
        try:
            float(value if value is not None else 0)
        except (TypeError, ValueError):
            return row
    return _first(pc.is_valid(column))


def _first(condition: pa.ChunkedArray) -> int:
    return int(pc.index(condition, pa.scalar(True)).as_py())


def _stacked(columns: Sequence[NDArray[Number]], rows: int, kind: type[Number]) -> NDArray[Number]:
    stacked = np.empty((rows, len(columns)), dtype=kind)
    for at, column in enumerate(columns):
        stacked[:, at] = column
    return stacked
