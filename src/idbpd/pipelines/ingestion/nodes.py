"""Take over what a source delivers, and say what it is."""

import logging

import pandas as pd

from idbpd.datasets.table import MultiLabelTable
from idbpd.datasets.table_checks import as_table

logger = logging.getLogger(__name__)


def ingest(source: MultiLabelTable | pd.DataFrame) -> MultiLabelTable:
    """The source's table. Whether it can be trained on was checked when it was loaded: the catalog has a validator."""
    table = as_table(source)
    logger.info(
        "%d samples, %d features, %d labels, %.2f labels per sample",
        len(table),
        len(table.feature_names),
        len(table.label_names),
        table.cardinality,
    )
    return table
