"""Label probabilities for the rows of a file."""

import logging
from typing import Protocol

import pandas as pd

from idbpd.datasets.feature_file import FeatureFile

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 10_000


class ScoringModel(Protocol):
    """A trained model: it knows its features by name."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""

    def predict(self, features: pd.DataFrame) -> pd.DataFrame:
        """A column ``task:label`` of probabilities for each label, a row for each row of features."""


def score(features_to_score: FeatureFile, scoring_model: ScoringModel) -> pd.DataFrame:
    """The probabilities of all labels for every row of the file, in its order."""
    names = scoring_model.features
    values = features_to_score.matrix(names)
    parts = [
        scoring_model.predict(pd.DataFrame(values[begin : begin + ROWS_AT_ONCE].astype(float), columns=list(names)))
        for begin in range(0, len(values), ROWS_AT_ONCE)
    ]
    logger.info("scored %d rows", len(values))
    return pd.concat(parts, ignore_index=True)
