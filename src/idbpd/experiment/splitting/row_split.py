"""Which samples are for training and which are held out."""

from typing import NamedTuple

import numpy as np
from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit

from idbpd.datasets.table import StoredFeatures, Target, TaskTable
from idbpd.errors import DataError

Rows = NDArray[np.intp]
# Groups cannot be divided, so label frequencies cannot be kept exactly: the best of some random divisions is taken.
DIVISIONS_OF_GROUPS = 20
# A number is divided into so many ranges with equally many samples, which both parts get in equal shares.
RANGES = 5


class Part(NamedTuple):
    """A part of the table, and the parameter that sets the size of the held-out part."""

    name: str
    parameter: str


TEST = Part("test", "split.test_fraction")


def split_rows(table: TaskTable, fraction: float, seed: int, held_out: Part = TEST) -> tuple[Rows, Rows]:
    """Rows to train on and held-out rows, in file order, with the same label frequencies in both; groups stay whole.

    With a fraction of zero, both parts are all rows: quality is then measured on the training data. In a table larger
    than memory every row is drawn by itself: among millions, frequencies agree anyway, and a row stays in its part when
    others are added.
    """
    rows: Rows = np.arange(len(table))
    if fraction == 0:
        return rows, rows
    if isinstance(table.features, StoredFeatures):
        held = drawn_rows(rows if table.groups is None else table.groups, fraction, seed)
        return rows[~held], rows[held]
    balanced = _balanced(table)
    if table.groups is not None and len(np.unique(table.groups)) < 2:
        raise DataError(
            f"all {len(table)} rows are of one group, and a group is not divided, so there is no {held_out.name} part; "
            "name another column under 'group', or none"
        )
    try:
        train, test = (
            _stratified(balanced, fraction, seed)
            if table.groups is None
            else _of_groups(balanced, table.groups, fraction, seed)
        )
    except ValueError as error:
        raise DataError(f"cannot split {len(table)} samples with {held_out.parameter} = {fraction}: {error}") from error
    return np.sort(train), np.sort(test)


def drawn_rows(numbers: NDArray[np.integer], fraction: float, seed: int, draw: int = 0) -> NDArray[np.bool_]:
    """Which rows, or groups of rows, are held out: decided for each number alone, by its hash (SplitMix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) + np.uint64((2 * seed + draw) % 2**32) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    drawn: NDArray[np.bool_] = mixed < np.uint64(min(int(fraction * 2**64), 2**64 - 1))
    return drawn


def _balanced(table: TaskTable) -> NDArray[np.int8]:
    """Columns of 0 and 1 whose frequencies should be the same in both parts: labels, classes, ranges of numbers."""
    if not table.targets:
        return table.labels
    return np.hstack([table.labels, *(_indicators(target) for target in table.targets)])


def _indicators(target: Target) -> NDArray[np.int8]:
    if target.kind != "number":
        # A row without a value has none of them, so the rows that take part are balanced as well.
        return np.asarray(np.nan_to_num(target.values), dtype=np.int8)
    values = target.values[:, 0]
    known = ~np.isnan(values)
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, RANGES + 1)[1:-1])) if known.any() else np.empty(0)
    ranges = np.digitize(values, edges)
    return np.asarray((ranges[:, None] == np.arange(len(edges) + 1)) & known[:, None], dtype=np.int8)


def _stratified(balanced: NDArray[np.int8], test_fraction: float, seed: int) -> tuple[Rows, Rows]:
    if balanced.shape[1] == 1:
        balanced = np.hstack([balanced, 1 - balanced])  # the splitter takes no single column
    splitter = MultilabelStratifiedShuffleSplit(n_splits=1, test_size=test_fraction, random_state=seed % 2**32)
    train, test = next(splitter.split(np.zeros((len(balanced), 1)), balanced))
    return train, test


def _of_groups(
    balanced: NDArray[np.int8], groups: NDArray[np.int64], test_fraction: float, seed: int
) -> tuple[Rows, Rows]:
    splitter = GroupShuffleSplit(n_splits=DIVISIONS_OF_GROUPS, test_size=test_fraction, random_state=seed % 2**32)
    divisions = splitter.split(balanced, groups=groups)
    train, test = min(divisions, key=lambda division: _distance(balanced, *division))
    return train, test


def _distance(balanced: NDArray[np.int8], train: Rows, test: Rows) -> float:
    """How far the frequencies of the two parts are apart."""
    difference = balanced[train].mean(axis=0) - balanced[test].mean(axis=0)
    return float(np.abs(difference).sum())
