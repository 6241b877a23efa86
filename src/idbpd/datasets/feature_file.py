"""A file of features without labels, to be scored by a trained model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from kedro.io import AbstractDataset, DatasetError
from numpy.typing import NDArray

from idbpd.datasets.arff.reader import LabelNames, read_arff
from idbpd.datasets.columns import Roles, columns_to_table, listed_names, require_names
from idbpd.datasets.table import Origin, TaskTable
from idbpd.datasets.table_checks import require_finite
from idbpd.datasets.tabular import read_csv, read_parquet
from idbpd.errors import ConfigurationError, DataError

logger = logging.getLogger(__name__)

FORMATS = (".csv", ".parquet", ".arff")


@dataclass(frozen=True)
class FeatureFile:
    """The columns of a file; a model selects its features by name."""

    columns: pa.Table | TaskTable
    origin: Origin

    def matrix(self, names: Sequence[str]) -> NDArray[np.float32]:
        """The features with these names, in this order; a `DataError` if one is missing or not finite.

        A feature ``colour=red`` is computed from a column ``colour``, as in training.
        """
        table = self.columns if isinstance(self.columns, TaskTable) else self._table(self.columns, names)
        at = {name: column for column, name in enumerate(table.feature_names)}
        missing = [name for name in names if name not in at]
        if missing:
            raise DataError(
                f"{self.origin.name}: {len(missing)} of the model's {len(names)} features are missing, "
                f"the first is {missing[0]!r}; its columns are {listed_names(table.feature_names)}"
            )
        chosen = [at[name] for name in names]
        features = table.features[:, chosen]
        wanted = TaskTable(features, tuple(names), table.labels, table.label_names, origin=self.origin)
        require_finite(wanted)
        unused = [name for name in table.feature_names if name not in set(names)]
        if unused:
            logger.info("ignored, not features of the model: %s", listed_names(unused))
        return wanted.dense_features(slice(None))

    def _table(self, columns: pa.Table, names: Sequence[str]) -> TaskTable:
        """The columns that the model uses, as numbers."""
        require_names(columns.column_names, self.origin)
        known = set(columns.column_names)
        values: dict[str, list[str]] = {}  # the categories that the model knows, by column
        for name in names:
            column, sign, value = name.partition("=")
            if name not in known and sign and column in known:
                values.setdefault(column, []).append(value)
        used = [column for column in columns.column_names if column in set(names) or column in values]
        unused = [column for column in columns.column_names if column not in used]
        if unused:
            logger.info("%s: ignored, not features of the model: %s", self.origin.name, listed_names(unused))
        if not used:
            raise DataError(
                f"{self.origin.name} has none of the model's features; its columns are {listed_names(unused)}"
            )
        table = columns_to_table(columns.select(used), Roles(labels=(), categorical=list(values)), self.origin)
        return self._with_all_categories(table, names, values)

    def _with_all_categories(self, table: TaskTable, names: Sequence[str], values: dict[str, list[str]]) -> TaskTable:
        """Add zero columns for categories that the file does not contain; refuse categories that the model lacks."""
        features = table.dense_features(slice(None))
        for at, name in enumerate(table.feature_names):
            if name not in set(names):
                column, _, value = name.partition("=")
                row = int(np.flatnonzero(features[:, at])[0])
                raise DataError(
                    f"{self.origin.of(row)}: {column!r} is {value!r}, which the model does not know; "
                    f"it knows {listed_names(values[column])}"
                )
        absent = [name for name in names if name not in table.feature_names and name.partition("=")[0] in values]
        zeros = np.zeros((len(features), len(absent)), dtype=features.dtype)
        return TaskTable(
            np.hstack([features, zeros]), (*table.feature_names, *absent), table.labels, (), origin=self.origin
        )


class FeatureFileDataset(AbstractDataset[NoReturn, FeatureFile]):
    """A CSV, Parquet or ARFF file to score. The path is relative to the working directory."""

    def __init__(self, *, file: str | None, parameter: str, metadata: dict[str, Any] | None = None) -> None:
        """Take the path; ``parameter`` is the name of the parameter that set it, for errors."""
        self._path = required_path(file, parameter, FORMATS)
        self.metadata = metadata

    def load(self) -> FeatureFile:
        """Read the file."""
        name, content = str(self._path), self._content()
        if not content:
            raise DataError(f"{name}: the file is empty")
        if self._path.suffix == ".csv":
            return FeatureFile(*read_csv(content, name))
        if self._path.suffix == ".parquet":
            return FeatureFile(read_parquet(content, name), Origin(name))
        table = read_arff(content, name, labels=LabelNames([], []))
        return FeatureFile(table, table.origin)

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: the file belongs to the user."""
        raise DatasetError("a file to score is read-only")

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise DataError(f"cannot read {self._path}: {(error.strerror or str(error)).lower()}") from error

    def _exists(self) -> bool:
        if not self._path.is_file():
            self._content()  # raises an error with the reason
        return True

    def _describe(self) -> dict[str, Any]:
        return {"file": str(self._path)}


def required_path(file: str | None, parameter: str, formats: Sequence[str]) -> Path:
    """The path set by a parameter; a `ConfigurationError` if it is missing or has another format."""
    if not file:
        raise ConfigurationError(
            f"parameter {parameter!r} is missing; for example: "
            "kedro run --pipeline predict --params input=table.csv,output=scores.csv"
        )
    if Path(file).suffix not in formats:
        raise ConfigurationError(
            f"parameter {parameter!r} = {file!r} is not valid: the file name must end in {' or '.join(formats)}"
        )
    return Path(file)
