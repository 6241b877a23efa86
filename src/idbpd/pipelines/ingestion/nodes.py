"""Check what a source delivers before anything is built on it."""

import logging

import numpy as np
import pandas as pd

from idbpd.datasets.table import feature_columns, label_columns, label_name
from idbpd.errors import DataError

logger = logging.getLogger(__name__)


def ingest(source: pd.DataFrame) -> pd.DataFrame:
    """The source's table, if it can be trained on: finite features, labels of 0 and 1, and both present."""
    features, labels = feature_columns(source), label_columns(source)
    if not features or len(labels) < 2:
        raise DataError(f"the table has {len(features)} features and {len(labels)} labels; it needs at least 1 and 2")
    finite = np.isfinite(source[features].to_numpy())
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise DataError(
            f"feature {features[column]!r} is not finite in row {row}: {source[features[column]].iloc[row]}"
        )
    for column in labels:
        values = set(source[column].unique())
        if values != {0, 1}:
            found = ", ".join(str(value) for value in sorted(values)[:5])
            raise DataError(f"label {label_name(column)!r} must be 0 in some rows and 1 in others; it has: {found}")
    cardinality = source[labels].to_numpy().sum(axis=1).mean()
    logger.info(
        "%d samples, %d features, %d labels, %.2f labels per sample",
        len(source),
        len(features),
        len(labels),
        cardinality,
    )
    return source
