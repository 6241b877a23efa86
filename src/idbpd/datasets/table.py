"""The multi-label table: every source is read into this form."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# In a text collection a sample has a few of thousands of features. Such a table stays sparse up to the network, which
# multiplies dense matrices.
Features: TypeAlias = NDArray[np.float32] | csr_array


@dataclass(frozen=True)
class Origin:
    """The file and lines that the rows of a table came from, for error messages."""

    name: str = "the table"
    lines: NDArray[np.int64] | None = None  # line of each row in a text file, counted from 1

    def of(self, row: int) -> str:
        """The place of one row, as text for an error message."""
        if self.lines is not None:
            return f"{self.name}, line {self.lines[row]}"
        return f"{self.name}, row {row + 1}"


@dataclass(frozen=True)
class MultiLabelTable:
    """Samples with features and 0/1 labels, names in file order.

    ``groups`` marks rows that must stay together in a split (samples made from the same image, rows of one patient).
    ``positions`` is for composed images: the class at each position, as an index into the labels. ``tasks`` is the
    source's own division of its labels, the most important task first; None leaves the division to the split.
    """

    features: Features  # (samples, features)
    feature_names: tuple[str, ...]
    labels: NDArray[np.int8]  # (samples, labels)
    label_names: tuple[str, ...]
    groups: NDArray[np.int64] | None = None
    positions: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    tasks: Mapping[str, tuple[str, ...]] | None = None
    origin: Origin = Origin()

    def __post_init__(self) -> None:
        """Check the shapes once, so that later code need not."""
        if self.features.shape != (len(self.labels), len(self.feature_names)):
            raise ValueError(
                f"features have shape {self.features.shape}, expected {(len(self.labels), len(self.feature_names))}"
            )
        if self.labels.shape[1:] != (len(self.label_names),):
            raise ValueError(f"labels have shape {self.labels.shape}, expected {len(self.label_names)} columns")
        for name, column in {"groups": self.groups, **self.positions}.items():
            if column is not None and column.shape != (len(self),):
                raise ValueError(f"{name} has shape {column.shape}, expected {(len(self),)}")

    def __len__(self) -> int:
        """The number of samples."""
        return int(self.labels.shape[0])

    @property
    def cardinality(self) -> float:
        """The mean number of labels of a sample."""
        return float(self.labels.sum(axis=1, dtype=np.int64).mean())

    def dense_features(self, rows: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """The features of some rows as a dense matrix."""
        part = self.features[rows]
        return np.ascontiguousarray(part.toarray() if isinstance(part, csr_array) else part, dtype=np.float32)

    def of_rows(self, rows: NDArray[np.intp]) -> "MultiLabelTable":
        """The table of some rows, in the given order."""
        lines = self.origin.lines
        return replace(
            self,
            features=self.features[rows],
            labels=self.labels[rows],
            groups=None if self.groups is None else self.groups[rows],
            positions={name: classes[rows] for name, classes in self.positions.items()},
            origin=replace(self.origin, lines=None if lines is None else lines[rows]),
        )
