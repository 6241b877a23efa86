"""From the columns of Y to tasks, and back from a model's answers to values as they were in Y."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from idbpd.datasets.table import Origin, Target
from idbpd.datasets.tabular.columns import frame_columns
from idbpd.datasets.tabular.targets import inferred_kind
from idbpd.datasets.tabular.task_block import TaskBlock
from idbpd.datasets.tabular.values import Reading, values_of
from idbpd.errors import DataError
from idbpd.mtl.kinds import Kind, Meaning

ONE_TASK = "y"  # the name of the task where Y is an array with one column


@dataclass(frozen=True)
class TaskColumn:
    """A column of Y: what its task predicts; ``classes`` are its different values, in order, None for a number."""

    name: str
    kind: Kind
    classes: NDArray[Any] | None

    def target(self, cells: "pd.Series[Any]") -> Target:
        """The targets of a task; rows without a value take no part in it."""
        known = cells.notna().to_numpy()
        if self.classes is None:
            values = np.full((len(cells), 1), np.nan, dtype=np.float32)
            with np.errstate(over="ignore"):
                values[known, 0] = cells[known].to_numpy(np.float64)
            if np.isinf(values).any():
                raise DataError(f"task {self.name!r} has values that are too large for four bytes")
            return Target(self.name, "number", (self.name,), values)
        outputs = tuple(str(value) for value in self.classes)
        codes = np.searchsorted(self.classes, np.asarray(cells[known].tolist(), dtype=self.classes.dtype))
        if self.kind == "binary":
            values = np.full((len(cells), 1), np.nan, dtype=np.float32)
            values[known, 0] = codes
            return Target(self.name, "binary", outputs[1:], values, other=outputs[0])
        values = np.full((len(cells), len(outputs)), np.nan, dtype=np.float32)
        values[known] = np.eye(len(outputs), dtype=np.float32)[codes]
        return Target(self.name, "classes", outputs, values)

    def probabilities(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """A column for each class, from the answers of the network."""
        return np.hstack([1 - answers, answers]) if self.kind == "binary" else answers

    def values(self, answers: NDArray[np.float64], meaning: Meaning) -> NDArray[Any]:
        """What is predicted, as it is written in Y."""
        if self.classes is None:
            numbers: NDArray[Any] = meaning.center + meaning.scale * answers[:, 0]
            return numbers
        likely: NDArray[Any] = self.classes[self.probabilities(answers).argmax(axis=1)]
        return likely


def framed(Y: Any) -> pd.DataFrame:
    """Y with a column per task, each with a name."""
    if isinstance(Y, pd.DataFrame):
        return Y.set_axis([str(name) for name in Y.columns], axis=1)
    if isinstance(Y, pd.Series):
        return Y.to_frame(ONE_TASK if Y.name is None else str(Y.name))
    array = np.asarray(Y)
    if isinstance(Y, list | tuple) and array.dtype.kind in "US":
        array = np.asarray(Y, dtype=object)  # numbers beside texts stay numbers
    if array.ndim == 1:
        return pd.DataFrame({ONE_TASK: array}).infer_objects()
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"y has shape {array.shape}; it has one column per task: (rows,) or (rows, tasks)")
    names = [ONE_TASK] if array.shape[1] == 1 else [f"{ONE_TASK}{at}" for at in range(array.shape[1])]
    return pd.DataFrame({name: array[:, at] for at, name in enumerate(names)}).infer_objects()


def side_by_side(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The predictions of several tasks as one array; texts and numbers stay what they are."""
    kinds = {column.dtype.kind for column in columns}
    return np.column_stack([*columns] if len(kinds) == 1 else [column.astype(object) for column in columns])


def named_as(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Targets under the names of the tasks, matched by name if the names are the same, else by order."""
    if frame.shape[1] != len(names):
        raise DataError(f"y has {frame.shape[1]} columns; the tasks are {', '.join(names)}")
    return frame[[*names]] if set(frame.columns) == set(names) else frame.set_axis([*names], axis=1)


def task_columns(frame: pd.DataFrame, kinds: Mapping[str, Kind | None]) -> list[TaskColumn]:
    """What the columns of Y predict; the kind of a column is found from its values where it is None."""
    return [_task_column(frame[name], kinds[name]) for name in frame.columns]


def inferred_kind_of(cells: "pd.Series[Any]") -> Kind:
    """The kind of a task, as it would be if the column were one of a file.

    Yes and yes are one value in a file, and two here: what is predicted is written as in Y.
    """
    name = str(cells.name)
    (column,) = frame_columns(cells.to_frame(name), Origin("y")).columns
    kind = inferred_kind(TaskBlock(name, (name,)), values_of(column, name, Reading()), f"y: column {name!r}")
    return "classes" if kind == "binary" and cells.nunique() > 2 else kind


def _task_column(cells: "pd.Series[Any]", kind: Kind | None) -> TaskColumn:
    name = str(cells.name)
    known = cells.dropna()
    if not len(known):
        raise DataError(f"task {name!r} has no value in any row")
    if pd.api.types.is_float_dtype(known.dtype) and np.isinf(known.to_numpy()).any():
        raise DataError(f"Input y contains infinity, in task {name!r}; all values must be finite")
    if kind == "number":
        if not (pd.api.types.is_numeric_dtype(known.dtype) or _are_numbers(known)):
            raise DataError(f"task {name!r} has values that are no numbers, such as {known.iloc[0]!r}")
        return TaskColumn(name, "number", None)
    values = np.asarray(known.tolist())
    check_classification_targets(values)
    classes = np.unique(values)
    if len(classes) < 2:
        raise DataError(f"task {name!r} has one class, {classes[0]}, in all {len(known)} rows; a task needs two")
    if kind == "binary" and len(classes) > 2:
        raise DataError(f"task {name!r} has {len(classes)} values; a task of kind binary has two")
    return TaskColumn(name, "binary" if len(classes) == 2 else "classes", classes)


def _are_numbers(cells: "pd.Series[Any]") -> bool:
    return all(isinstance(cell, int | float | np.number) for cell in cells)
