"""Read the source as a table, and report its size."""

import logging

import pandas as pd

from idbpd.datasets.table import TaskTable
from idbpd.datasets.table_checks import as_table

logger = logging.getLogger(__name__)


def ingest(source: TaskTable | pd.DataFrame) -> TaskTable:
    """The source's table. The validator of its catalog entry checked it when it was loaded."""
    table = as_table(source)
    if table.targets:
        columns = len(table.feature_names)
        logger.info(
            "%d samples, %d column%s to predict from, %d task%s",
            len(table),
            columns,
            "" if columns == 1 else "s",
            len(table.targets),
            "" if len(table.targets) == 1 else "s",
        )
        return table
    logger.info(
        "%d samples, %d features, %d labels, %.2f labels per sample",
        len(table),
        len(table.feature_names),
        len(table.label_names),
        table.cardinality,
    )
    return table
