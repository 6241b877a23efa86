"""A small table with columns of every role, for tests of what is done with features."""

import numpy as np
import pandas as pd

from idbpd.datasets.table import Column, TaskTable

ROWS = 200
DAY = 86_400.0


def number(name: str, values: object) -> Column:
    return Column(name, "number", np.asarray(values, dtype=np.float64))


def category(name: str, values: list[str | None]) -> Column:
    known = tuple(sorted({value for value in values if value is not None}))
    codes = [-1 if value is None else known.index(value) for value in values]
    return Column(name, "category", np.array(codes, dtype=np.int32), known)


def date(name: str, values: list[str | None]) -> Column:
    moments = pd.to_datetime(pd.Series(values, dtype=object)).to_numpy("datetime64[s]")
    return Column(name, "date", np.where(np.isnat(moments), np.nan, moments.astype(np.int64)))


def table_of(*columns: Column) -> TaskTable:
    names = tuple(column.name for column in columns)
    return TaskTable(columns, names, np.zeros((len(columns[0].values), 0), dtype=np.int8), ())


def mixed_table(rows: int = ROWS, seed: int = 0) -> TaskTable:
    """Numbers, categories and dates; with and without gaps, rare values and times of the day."""
    draw = np.random.default_rng(seed)

    def with_gaps(values: list[str]) -> list[str | None]:
        return [None if gap else value for value, gap in zip(values, draw.random(rows) < 0.1, strict=True)]

    days = [str(day) for day in np.datetime64("2020-01-01") + draw.integers(0, 900, rows)]
    work = draw.choice(["Private", "State", "none at all", "alone", "rarest"], rows, p=[0.6, 0.2, 0.18, 0.01, 0.01])
    return table_of(
        number("age", draw.integers(17, 90, rows)),
        category("work", with_gaps(work.tolist())),
        number("income", np.where(draw.random(rows) < 0.1, np.nan, draw.normal(size=rows))),
        category("plan", draw.choice(["yes", "no"], rows).tolist()),
        date("joined", with_gaps(days)),
        date("seen", [f"{day}T{hour:02d}:30:00" for day, hour in zip(days, draw.integers(0, 24, rows), strict=True)]),
    )
