"""Checks of a table before training."""

from typing import NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from idbpd.datasets.table import Origin, StoredFeatures, TaskTable
from idbpd.datasets.tabular.column_names import require_names
from idbpd.datasets.tabular.columns import frame_to_table
from idbpd.errors import DataError

FEWEST_ROWS = 20
LARGEST = float(np.finfo(np.float32).max)  # the network computes in this precision


class TableValidator:
    """A catalog validator: finite features, labels that are not constant, unique names, enough rows, expected counts.

    ```yaml
    chd49:
      type: idbpd.datasets.ArffDataset
      filepath: data/01_raw/chd49/CHD_49.arff
      validator:
        class: idbpd.datasets.TableValidator
        options: {samples: 555, features: 49, labels: 6}
    ```

    A data set without its own ``validator`` gets this one without counts.
    """

    def __init__(
        self,
        *,
        samples: int | None = None,
        features: int | None = None,
        labels: int | None = None,
        name: str = "the table",
    ) -> None:
        """Set the expected counts, and the name by which errors call a data frame (it does not know its file)."""
        self._name = name
        self._expected = {"samples": samples, "features": features, "labels": labels}

    def validate(self, data: TaskTable | pd.DataFrame) -> TaskTable:
        """Return the table if it is valid; a data frame is converted."""
        table = as_table(data, self._name)
        found = {"samples": len(table), "features": len(table.feature_names), "labels": len(table.label_names)}
        for what, count in self._expected.items():
            if count is not None and count != found[what]:
                raise DataError(f"{table.origin.name} has {found[what]} {what}, expected {count}: is it another file?")
        if not table.targets and not table.label_names:
            raise DataError(
                f"{table.origin.name} has nothing to predict; name the columns under 'tasks', such as "
                "tasks: {churn: churned}"
            )
        if not found["features"] or (found["labels"] < 2 and not table.targets):
            raise DataError(
                f"{table.origin.name} has {found['samples']} samples, {found['features']} features and "
                f"{found['labels']} labels; it needs at least {FEWEST_ROWS}, 1 and 2"
            )
        if len(table) < FEWEST_ROWS:
            raise DataError(
                f"{table.origin.name} has {len(table)} rows; at least {FEWEST_ROWS} are needed to train a model on "
                "some and to judge it on others"
            )
        require_names([*table.feature_names, *table.label_names], table.origin)
        require_finite(table)
        _require_varying_labels(table)
        return table


def as_table(data: TaskTable | pd.DataFrame, name: str = "the table") -> TaskTable:
    """Convert a data frame to a table; a table is returned as it is."""
    if isinstance(data, TaskTable):
        return data
    if isinstance(data, pd.DataFrame):
        return frame_to_table(data, Origin(name))
    raise DataError(f"a source must load a TaskTable or a pandas DataFrame, not {type(data).__name__}")


def require_finite(table: TaskTable) -> None:
    """Raise a `DataError` with the place of the first feature value that is infinite, or too large for the network.

    A missing value is no error: it is filled in where features become a matrix. Sparse features have no gaps to fill.
    """
    features = table.features
    if isinstance(features, StoredFeatures):
        return  # looked at when its columns were read
    if isinstance(features, tuple):
        for at, column in enumerate(features):
            if column.role != "category":
                _require_finite_column(table, at, column.values)
    elif isinstance(features, csr_array):
        wrong = np.flatnonzero(~np.isfinite(features.data))
        if len(wrong):
            entries = features.tocoo()
            row, at, value = entries.coords[0][wrong[0]], entries.coords[1][wrong[0]], entries.data[wrong[0]]
            _refuse(table, row, at, value)
    elif not np.isfinite(features).all():
        for at in range(features.shape[1]):
            _require_finite_column(table, at, features[:, at])


def _require_finite_column(table: TaskTable, at: int, values: NDArray[np.floating | np.integer]) -> None:
    wrong = np.flatnonzero(np.abs(values) > LARGEST)  # not so where a value is missing
    if len(wrong):
        _refuse(table, int(wrong[0]), at, values[wrong[0]])


def _refuse(table: TaskTable, row: int, at: int, value: float) -> NoReturn:
    found = "missing" if np.isnan(value) else "infinite" if np.isinf(value) else f"{value:g}, which is too large"
    raise DataError(f"{table.origin.of(row)}: feature {table.feature_names[at]!r} is {found}; numbers must be finite")


def _require_varying_labels(table: TaskTable) -> None:
    wrong = np.argwhere((table.labels != 0) & (table.labels != 1))
    if len(wrong):
        row, column = wrong[0]
        raise DataError(
            f"{table.origin.of(row)}: label {table.label_names[column]!r} is {table.labels[row, column]}; "
            "a label is 0 or 1"
        )
    positives = table.labels.sum(axis=0, dtype=np.int64)
    for name, count in zip(table.label_names, positives, strict=True):
        if count in (0, len(table)):
            raise DataError(
                f"{table.origin.name}: label {name!r} is {int(count > 0)} in all {len(table)} rows; "
                "it must be 0 in some rows and 1 in others"
            )
