"""The table of features and targets: every source is read into this form."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from idbpd.mtl.kinds import Kind

# In a text collection a sample has a few of thousands of features. Such a table stays sparse up to the network, which
# multiplies dense matrices.
Matrix: TypeAlias = NDArray[np.float32] | csr_array
Role = Literal["number", "category", "date"]
Content = Literal["table", "images"]


@dataclass(frozen=True)
class Origin:
    """The file and lines that the rows of a table came from, for error messages.

    A table of several files has their names in ``files``, and for each row the position of its file in ``file_of``.
    """

    name: str = "the table"
    lines: NDArray[np.int64] | None = None  # line of each row in a text file, counted from 1
    files: tuple[str, ...] = ()
    file_of: NDArray[np.int64] | None = None

    def of(self, row: int) -> str:
        """The place of one row, as text for an error message."""
        if self.lines is not None:
            name = self.name if self.file_of is None else self.files[self.file_of[row]]
            return f"{name}, line {self.lines[row]}"
        return f"{self.name}, row {row + 1}"

    def of_rows(self, rows: NDArray[np.intp]) -> "Origin":
        """The origin of some rows, in the given order."""
        return replace(
            self,
            lines=None if self.lines is None else self.lines[rows],
            file_of=None if self.file_of is None else self.file_of[rows],
        )

    @classmethod
    def joined(cls, parts: "Sequence[Origin]", lengths: Sequence[int]) -> "Origin":
        """The origin of the rows of several files, one after the other."""
        lines = [part.lines for part in parts if part.lines is not None]
        if len(parts) == 1 or len(lines) < len(parts):
            return parts[0] if len(parts) == 1 else cls(" + ".join(part.name for part in parts))
        return cls(
            name=" + ".join(part.name for part in parts),
            lines=np.concatenate(lines),
            files=tuple(part.name for part in parts),
            file_of=np.repeat(np.arange(len(parts), dtype=np.int64), lengths),
        )


@dataclass(frozen=True)
class Column:
    """A feature as it is in the file: gaps are not filled, nothing is encoded or scaled.

    A number is a number, a date is the seconds since 1970; both are NaN where they are missing. A category is an index
    into ``categories``, or -1 where it is missing.

    ``written`` says how its texts are to be read where that is not plain, so that a file to score is read in the same
    way: ``decimal`` (the decimal sign, where the other sign may separate thousands), ``form`` (of dates, such as
    ``%d.%m.%Y``) and ``missing`` (words for a missing value).
    """

    name: str
    role: Role
    values: NDArray[np.float64] | NDArray[np.int32]  # (rows,)
    categories: tuple[str, ...] = ()
    written: Mapping[str, Any] = field(default_factory=dict)

    def series(self, rows: NDArray[np.intp] | slice) -> "pd.Series[Any]":
        """The values of some rows as pandas has them: numbers, texts or dates, empty where they are missing."""
        values = self.values[rows]
        if self.role == "number":
            return pd.Series(values, name=self.name)
        if self.role == "date":
            return pd.Series(pd.to_datetime(values, unit="s"), name=self.name)
        texts = np.array([*self.categories, None], dtype=object)  # the index -1 is the last
        return pd.Series(texts[values], name=self.name, dtype=object)


class StoredFeatures(ABC):
    """Columns that are larger than memory and stay in their files (`idbpd.datasets.stored`)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def is_sparse(self) -> bool:
        """Whether most of the features that the columns become are zeros."""

    @abstractmethod
    def column(self, at: int) -> Column:
        """One column with all its values."""

    @abstractmethod
    def roles(self) -> list[tuple[str, Role]]:
        """The name and the role of every column."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[int, list[Column]]]:
        """All columns of some rows at a time, with the number of the first of them."""

    @abstractmethod
    def frame(self, rows: NDArray[np.intp] | slice) -> pd.DataFrame:
        """Some rows as they would come in a file to score."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """All that is needed to find the same columns again, as plain data."""

    @abstractmethod
    def sha256(self) -> list[str]:
        """SHA-256 of the values, by parts of the files."""


@dataclass(frozen=True)
class Target:
    """What one task predicts, for every row of the table.

    ``outputs`` names the columns of ``values``: the positive value of a yes-or-no question, the classes, the labels, or
    the column of a number. ``options`` is what its block says beside columns and kind: loss, slack, limit.
    """

    task: str
    kind: Kind
    outputs: tuple[str, ...]
    values: NDArray[np.float32]  # (rows, outputs): 0 or 1, or a number in its own unit; NaN where missing
    other: str | None = None  # the value that is not the positive one, of a yes-or-no question
    options: Mapping[str, Any] = field(default_factory=dict)

    def of_rows(self, rows: NDArray[np.intp]) -> "Target":
        """The targets of some rows, in the given order."""
        return replace(self, values=self.values[rows])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows take part in the task: those with at least one known value."""
        known: NDArray[np.bool_] = np.any(~np.isnan(self.values), axis=1)
        return known


@dataclass(frozen=True)
class TaskTable:
    """Samples with features and targets, names in file order.

    Features are a matrix of numbers, or columns of several kinds. Targets are stated by task, or are 0/1 labels that a
    split divides into tasks (``tasks`` is the source's own division of them, the most important task first).

    ``groups`` marks rows that must stay together in a split (samples made from the same image, rows of one patient).
    ``grouping`` are columns that only say which samples belong together in a worst case over groups; features and
    labels can do so too.
    ``positions`` is for composed images: the class at each position, as an index into the labels. ``identifiers`` are
    columns that name a row: no features, but predictions repeat them.
    """

    features: Matrix | tuple[Column, ...] | StoredFeatures
    feature_names: tuple[str, ...]
    labels: NDArray[np.int8]  # (samples, labels)
    label_names: tuple[str, ...]
    groups: NDArray[np.int64] | None = None
    positions: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    tasks: Mapping[str, tuple[str, ...]] | None = None
    origin: Origin = Origin()
    targets: tuple[Target, ...] = ()
    label_kind: Literal["labels", "distribution"] = "distribution"
    identifiers: tuple[str, ...] = ()
    grouping: Mapping[str, Column] = field(default_factory=dict)
    content: Content = "table"

    def __post_init__(self) -> None:
        """Check the shapes once, so that later code need not."""
        shape = self._feature_shape()
        if shape != (len(self.labels), len(self.feature_names)):
            raise ValueError(f"features have shape {shape}, expected {(len(self.labels), len(self.feature_names))}")
        if self.labels.shape[1:] != (len(self.label_names),):
            raise ValueError(f"labels have shape {self.labels.shape}, expected {len(self.label_names)} columns")
        grouping = {name: column.values for name, column in self.grouping.items()}
        for name, column in {"groups": self.groups, **self.positions, **grouping}.items():
            if column is not None and column.shape != (len(self),):
                raise ValueError(f"{name} has shape {column.shape}, expected {(len(self),)}")
        for target in self.targets:
            if target.values.shape != (len(self), len(target.outputs)):
                raise ValueError(
                    f"the targets of {target.task} have shape {target.values.shape}, expected "
                    f"{(len(self), len(target.outputs))}"
                )

    def __len__(self) -> int:
        """The number of samples."""
        return int(self.labels.shape[0])

    def _feature_shape(self) -> tuple[int, ...]:
        if isinstance(self.features, tuple):
            lengths = {len(column.values) for column in self.features} or {len(self)}
            return (lengths.pop() if len(lengths) == 1 else -1, len(self.features))
        return tuple(self.features.shape)

    @property
    def cardinality(self) -> float:
        """The mean number of labels of a sample."""
        return float(self.labels.sum(axis=1, dtype=np.int64).mean())

    def dense_features(self, rows: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """The features of some rows as a dense matrix; only where they are numbers."""
        assert not isinstance(self.features, tuple | StoredFeatures)  # columns must be encoded first
        part = self.features[rows]
        return np.ascontiguousarray(part.toarray() if isinstance(part, csr_array) else part, dtype=np.float32)

    def frame(self, rows: NDArray[np.intp] | slice) -> pd.DataFrame:
        """The features of some rows as they would come in a file to score."""
        if isinstance(self.features, StoredFeatures):
            return self.features.frame(rows)
        if not isinstance(self.features, tuple):
            return pd.DataFrame(self.dense_features(rows).astype(np.float64), columns=list(self.feature_names))
        return pd.DataFrame({column.name: column.series(rows) for column in self.features})

    def of_rows(self, rows: NDArray[np.intp]) -> "TaskTable":
        """The table of some rows, in the given order."""
        features = self.features
        assert not isinstance(features, StoredFeatures)  # its rows are never picked: they would not fit into memory
        return replace(
            self,
            features=(
                tuple(replace(column, values=column.values[rows]) for column in features)
                if isinstance(features, tuple)
                else features[rows]
            ),
            labels=self.labels[rows],
            grouping={name: replace(column, values=column.values[rows]) for name, column in self.grouping.items()},
            groups=None if self.groups is None else self.groups[rows],
            positions={name: classes[rows] for name, classes in self.positions.items()},
            origin=self.origin.of_rows(rows),
            targets=tuple(target.of_rows(rows) for target in self.targets),
        )
