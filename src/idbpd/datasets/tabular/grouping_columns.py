"""Columns that say which group a row belongs to, for a worst case over groups: they need not be features."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from idbpd.datasets.table import Column
from idbpd.datasets.tabular.task_block import TaskBlock
from idbpd.datasets.tabular.values import Reading, values_of


def named_by_tasks(tasks: Sequence[TaskBlock], known: Sequence[str]) -> list[str]:
    """The columns that the worst cases in the block ``tasks`` name. What is no column is refused at the split."""
    named: list[str] = []
    for task in tasks:
        worst_case = task.options.get("worst_case")
        given = worst_case.get("groups", ()) if isinstance(worst_case, Mapping) else ()
        given = given.get("columns", ()) if isinstance(given, Mapping) else given
        named += given.split("+") if isinstance(given, str) else _texts(given)
    return [name for name in dict.fromkeys(named) if name in known]


def grouping_columns(columns: pa.Table, names: Iterable[str], reading: Reading) -> dict[str, Column]:
    """The columns of these names as categories, whatever their values are."""
    made = {}
    for name in names:
        codes, words = values_of(columns[name], name, reading).distinct
        made[name] = Column(name, "category", codes.astype(np.int32), tuple(words))
    return made


def _texts(given: Any) -> list[str]:
    return [str(name) for name in given] if isinstance(given, list | tuple) else [str(given)]
