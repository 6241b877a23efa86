"""Which samples are for training and which are held out."""

from typing import NamedTuple

import numpy as np
from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit

from idbpd.datasets.table import TaskTable
from idbpd.errors import DataError

Rows = NDArray[np.intp]
# Groups cannot be divided, so label frequencies cannot be kept exactly: the best of some random divisions is taken.
DIVISIONS_OF_GROUPS = 20


class Part(NamedTuple):
    """A part of the table, and the parameter that sets the size of the held-out part."""

    name: str
    parameter: str


TEST = Part("test", "split.test_fraction")


def split_rows(table: TaskTable, fraction: float, seed: int, held_out: Part = TEST) -> tuple[Rows, Rows]:
    """Rows to train on and held-out rows, in file order, with the same label frequencies in both; groups stay whole.

    With a fraction of zero, both are all rows: what is measured is the training data.
    """
    rows: Rows = np.arange(len(table))
    if fraction == 0:
        return rows, rows
    try:
        train, test = (
            _stratified(table, fraction, seed)
            if table.groups is None
            else _of_groups(table, table.groups, fraction, seed)
        )
    except ValueError as error:
        raise DataError(f"cannot split {len(table)} samples with {held_out.parameter} = {fraction}: {error}") from error
    return np.sort(train), np.sort(test)


def _stratified(table: TaskTable, test_fraction: float, seed: int) -> tuple[Rows, Rows]:
    splitter = MultilabelStratifiedShuffleSplit(n_splits=1, test_size=test_fraction, random_state=seed % 2**32)
    train, test = next(splitter.split(np.zeros((len(table), 1)), table.labels))
    return train, test


def _of_groups(table: TaskTable, groups: NDArray[np.int64], test_fraction: float, seed: int) -> tuple[Rows, Rows]:
    splitter = GroupShuffleSplit(n_splits=DIVISIONS_OF_GROUPS, test_size=test_fraction, random_state=seed % 2**32)
    divisions = splitter.split(table.labels, groups=groups)
    train, test = min(divisions, key=lambda division: _label_distance(table, *division))
    return train, test


def _label_distance(table: TaskTable, train: Rows, test: Rows) -> float:
    """How far the label frequencies of the two parts are apart."""
    difference = table.labels[train].mean(axis=0) - table.labels[test].mean(axis=0)
    return float(np.abs(difference).sum())
