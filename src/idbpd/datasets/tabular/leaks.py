"""Columns that give a target away: a model that needs what is known only afterwards is of no use."""

import logging
from collections.abc import Iterator, Sequence
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import Column, Role, Target

logger = logging.getLogger(__name__)

SAME = 0.9999  # a correlation above this is a copy in another unit
# A column that fits a target this seldom by chance is no accident.
CHANCE = log(1e-6)


def warn_of_leaks(features: Sequence[Column], targets: Sequence[Target], rows: NDArray[np.intp]) -> None:
    """Warn of every feature that equals a target or determines it.

    ``rows`` are those that are not copies of others. A column that differs in most of them would determine every target
    by its copies alone.
    """
    telling = {column.name: rows if _differs(column.values[rows]) else slice(None) for column in features}
    for target in targets:
        for what, values in _parts(target):
            for column in features:
                part = telling[column.name]
                how = _leak(column.role, column.values[part], values[part], is_number=target.kind == "number")
                if how is not None:
                    logger.warning(
                        "column %r gives %s away: %s; if it is not known when the model is asked, leave it out with "
                        "ignore: [%s]",
                        column.name,
                        what,
                        how,
                        column.name,
                    )


def _differs(values: NDArray[np.float64] | NDArray[np.int32]) -> bool:
    return len(np.unique(values)) > len(values) / 2


def _parts(target: Target) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The targets as single columns: labels one by one, classes as the numbers of the classes."""
    values = target.values.astype(np.float64)
    if target.kind == "classes":
        yield f"task {target.task!r}", np.where(target.known, values.argmax(axis=1), np.nan)
    elif target.kind in ("binary", "number"):
        yield f"task {target.task!r}", values[:, 0]
    else:
        for at, name in enumerate(target.outputs):
            yield f"label {name!r} of task {target.task!r}", values[:, at]


def _leak(
    role: Role, values: NDArray[np.float64] | NDArray[np.int32], target: NDArray[np.float64], *, is_number: bool
) -> str | None:
    known = ~np.isnan(target)
    values, target = values[known], target[known]
    numbers = None if role == "category" else values.astype(np.float64)
    if is_number and numbers is not None and _correlation(numbers, target) > SAME:
        return "it is the target, perhaps in another unit"
    kinds = np.unique(target, return_inverse=True)[1]
    if numbers is not None:
        if _determines(np.isnan(numbers).astype(np.intp), kinds):
            return "it is missing for one of the two values only"
        if not is_number and _separates(numbers, target):
            return "one number divides the two values"
        numbers = np.where(np.isnan(numbers), np.inf, numbers)
    codes = np.unique(values if numbers is None else numbers, return_inverse=True)[1]
    if _determines(codes, kinds):
        return "each of its values has one target"
    return None


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    both = np.isfinite(one) & np.isfinite(other)
    one, other = one[both], other[both]
    if len(one) < 10:
        return 0.0
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return abs(float((one * other).sum())) / scale if scale > 0 else 0.0


def _determines(values: NDArray[np.integer], kinds: NDArray[np.intp]) -> bool:
    """Whether every value occurs with one target only, in so many rows that this is no accident."""
    if len(kinds) == 0 or values.max() == 0:
        return False
    first = np.empty(int(values.max()) + 1, dtype=kinds.dtype)
    first[values] = kinds
    if not np.array_equal(first[values], kinds):
        return False
    shares = np.bincount(kinds) / len(kinds)
    rows, times = np.unique(np.bincount(values), return_counts=True)
    # A value with m rows occurs with one target only by chance with probability sum_c p_c^m.
    largest = shares.max()
    chance = sum(
        count * (size * log(largest) + log(((shares / largest) ** size).sum()))
        for size, count in zip(rows.tolist(), times.tolist(), strict=True)
        if size > 1
    )
    return bool(chance < CHANCE)


def _separates(numbers: NDArray[np.float64], target: NDArray[np.float64]) -> bool:
    """Whether two classes lie on two sides of one number."""
    classes = np.unique(target)
    known = ~np.isnan(numbers)
    if len(classes) != 2:
        return False
    one, other = numbers[known & (target == classes[0])], numbers[known & (target == classes[1])]
    if not len(one) or not len(other) or not (one.max() < other.min() or other.max() < one.min()):
        return False
    # One of the n over k orders, and its reverse, are so by chance.
    orders = lgamma(len(one) + len(other) + 1) - lgamma(len(one) + 1) - lgamma(len(other) + 1)
    return log(2) - orders < CHANCE
