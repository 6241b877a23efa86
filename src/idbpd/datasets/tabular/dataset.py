"""A user's own table: CSV or Parquet, described in a few lines of YAML."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from kedro.io import DatasetError, Version

from idbpd.datasets.file_dataset import FileDataset
from idbpd.datasets.stored.ingest import stored_table
from idbpd.datasets.stored.parquet_rows import ParquetRows
from idbpd.datasets.table import TaskTable
from idbpd.datasets.tabular.column_names import LABEL_PREFIX
from idbpd.datasets.tabular.columns import Roles, columns_to_table
from idbpd.datasets.tabular.feature_roles import StatedRoles
from idbpd.datasets.tabular.reading import joined, read_columns, require_readable
from idbpd.datasets.tabular.task_block import read_tasks
from idbpd.datasets.tabular.values import Reading
from idbpd.errors import ConfigurationError

IN_MEMORY = 2e9  # bytes


class TabularDataset(FileDataset[TaskTable]):
    """A table in a text file with a header (CSV), or in a Parquet file.

    ```yaml
    customers:
      type: idbpd.datasets.TabularDataset
      filepath: data/01_raw/customers.csv # or a list of files with the same columns
      tasks: # the first task has priority, every other one keeps a limit
        churn: churned # a column; its kind is found from its values: binary, classes or number
        topics: [sports, music, news] # several 0/1 columns: independent labels
        spend: {column: next_month, kind: number, slack: 0.2}
        single: {column: family, positive: single} # is it this value?
      ignore: [name] # neither feature nor target
      categorical: [branch] # categories, although they are numbers
      groups: [name] # for a worst case over groups; needed only for columns that are ignored
      group: household # all rows of one household are in the same part, training or test
    ```

    Every other column is a feature: a number, a category or a date, judged by its values. Identifiers, free text and
    columns with one value are left out. ``categorical``, ``numeric`` and ``dates`` overrule that. ``missing`` lists
    more words for a missing value, ``not_missing`` words that are values here; `MISSING` has the usual ones.
    ``delimiter`` is found from the file, ``decimal`` from each column, unless they are stated.

    A Parquet table of more than ``in_memory`` bytes, eight for each value, stays in its files (docs/scale_memory.md).
    ``digests`` is a file in which the SHA-256 of its row groups are kept.

    ``labels: [stroke, flu]`` instead of ``tasks`` leaves the division to the split. Without either, the columns named
    ``label:...`` are the labels.
    """

    def __init__(
        self,
        *,
        filepath: str | list[str],
        tasks: dict[str, Any] | None = None,
        labels: list[str] | None = None,
        group: str | None = None,
        groups: str | list[str] | None = None,
        ignore: str | list[str] | None = None,
        categorical: str | list[str] | None = None,
        numeric: str | list[str] | None = None,
        dates: str | list[str] | dict[str, str] | None = None,
        missing: str | list[str] | None = None,
        not_missing: str | list[str] | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        in_memory: float = IN_MEMORY,
        digests: str | None = None,
        version: Version | None = None,
        credentials: dict[str, Any] | None = None,
        fs_args: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the files and what is known of their columns."""
        files = [filepath] if isinstance(filepath, str) else [str(file) for file in filepath]
        if not files:
            raise ConfigurationError("'filepath' is an empty list; it names the file or files of the table")
        for file in files:
            require_readable(file)
        place = " + ".join(files)
        if labels is not None and tasks is not None:
            raise ConfigurationError(f"{place}: both 'labels' and 'tasks' say what to predict; keep one of them")
        if decimal not in (None, ",", "."):
            raise ConfigurationError(f"{place}: decimal = {decimal!r} is not valid; it is ',' or '.'")
        if version is not None and len(files) > 1:
            raise ConfigurationError(f"{place}: several files cannot be versioned")
        super().__init__(
            filepath=files[0], version=version, credentials=credentials, fs_args=fs_args, metadata=metadata
        )
        self._others = files[1:]
        self._labels = None if labels is None else _texts(labels, "labels", place)
        forms = dates if isinstance(dates, Mapping) else {}
        self._roles = Roles(
            tasks=() if tasks is None else read_tasks(tasks, place),
            group=None if group is None else str(group),
            groups=_texts(groups, "groups", place),
            ignore=_texts(ignore, "ignore", place),
            features=StatedRoles(
                categorical=_texts(categorical, "categorical", place),
                numeric=_texts(numeric, "numeric", place),
                dates=_texts(list(dates) if isinstance(dates, Mapping) else dates, "dates", place),
            ),
            reading=Reading(
                missing=_texts(missing, "missing", place),
                not_missing=_texts(not_missing, "not_missing", place),
                decimal=decimal,  # type: ignore[arg-type]  # checked above
                date_forms={str(column): str(form) for column, form in forms.items()},
            ),
        )
        self._delimiter, self._encoding = delimiter, encoding
        if not isinstance(in_memory, int | float) or in_memory < 0:
            raise ConfigurationError(f"{place}: in_memory = {in_memory!r} is not valid; it is a number of bytes")
        self._in_memory, self._digests = in_memory, None if digests is None else Path(digests)

    def load(self) -> TaskTable:
        """Read the table; one that is larger than memory stays in its files, and is read when it is needed."""
        rows = self._stored_rows()
        return super().load() if rows is None else stored_table(rows, self._roles, self._digests)

    def _stored_rows(self) -> ParquetRows | None:
        """The rows of local Parquet files, if they are too many to be in memory."""
        if self._protocol != "file" or self._version is not None:
            return None
        files = [self.path, *self._others]
        if not all(PurePosixPath(file).suffix.lower() == ".parquet" and self._fs.exists(file) for file in files):
            return None
        rows = ParquetRows(files)
        return rows if 8 * len(rows) * len(rows.schema.names) > self._in_memory else None

    def _parse(self, content: bytes, name: str) -> TaskTable:
        contents = [(content, name), *((self._read(file), file) for file in self._others)]
        columns, origin = joined(
            [read_columns(*file, delimiter=self._delimiter, encoding=self._encoding) for file in contents]
        )
        roles = self._roles
        if not roles.tasks:
            labels = self._labels
            if labels is None:
                labels = [column for column in columns.column_names if column.startswith(LABEL_PREFIX)]
            roles = replace(roles, labels=labels)
        return columns_to_table(columns, roles, origin)

    def _exists(self) -> bool:
        return super()._exists() and all(self._fs.exists(file) for file in self._others)

    def _render(self, data: TaskTable) -> NoReturn:  # noqa: ARG002
        raise DatasetError("a user's table is read-only")

    def _describe(self) -> dict[str, Any]:
        return {**super()._describe(), **({"others": self._others} if self._others else {})}


def _texts(given: Any, key: str, place: str) -> list[str]:
    """One name or a list of them, as texts: YAML reads a column named 2026 as a number."""
    if given is None:
        return []
    names = list(given) if isinstance(given, list | tuple) else [given]
    for name in names:
        if name is None or isinstance(name, list | tuple | dict):
            raise ConfigurationError(f"{place}: {key!r} has {name!r} in it; it is a list of texts: {key}: [a, b]")
    return [str(name) for name in names]
