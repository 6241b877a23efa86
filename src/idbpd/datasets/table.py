"""What a multi-label table looks like: the one form that every source is read into.

A table is a data frame with one row per sample. A column ``label:<name>`` holds 0 or 1; an optional column ``group``
names what must stay together when the table is split (samples made from the same image, rows of the same patient); all
other columns are features.
"""

import pandas as pd

LABEL_PREFIX = "label:"
GROUP_COLUMN = "group"


def label_columns(table: pd.DataFrame) -> list[str]:
    """The label columns of a table, in file order."""
    return [column for column in table.columns if column.startswith(LABEL_PREFIX)]


def feature_columns(table: pd.DataFrame) -> list[str]:
    """The feature columns of a table, in file order."""
    return [column for column in table.columns if not column.startswith(LABEL_PREFIX) and column != GROUP_COLUMN]


def label_name(column: str) -> str:
    """The label that a label column is about."""
    return column.removeprefix(LABEL_PREFIX)
