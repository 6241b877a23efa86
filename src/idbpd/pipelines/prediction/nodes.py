"""A model's answers for the rows of a file."""

import logging
from typing import Protocol

import pandas as pd

from idbpd.datasets.feature_file import FeatureFile
from idbpd.datasets.tabular.column_names import listed_names
from idbpd.errors import DataError

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 10_000
REPLACED = "replaced"  # the last column of a model's answers: what had to be replaced in a row


class ScoringModel(Protocol):
    """A trained model: it knows the columns that it needs by name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that it makes features of."""

    def predict(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The answers to every task, a row for each raw row; identifiers first."""


def score(features_to_score: FeatureFile, scoring_model: ScoringModel) -> pd.DataFrame:
    """The answers for every row of the file, in its order; columns of the model may be missing, but not all of them."""
    rows, name, columns = features_to_score.frame, features_to_score.origin.name, scoring_model.columns
    given, needed = set(rows.columns), set(columns)
    if not given & needed:
        raise DataError(
            f"{name} has none of the model's columns; the model takes {listed_names(columns)}, "
            f"the file has {listed_names(list(rows.columns))}"
        )
    away = [column for column in columns if column not in given]
    if away:
        logger.warning(
            "%s has no columns %s, which the model knows: the usual value is taken for each", name, listed_names(away)
        )
    parts = [
        scoring_model.predict(rows.iloc[begin : begin + ROWS_AT_ONCE]) for begin in range(0, len(rows), ROWS_AT_ONCE)
    ]
    answers = pd.concat(parts, ignore_index=True)
    unused = [column for column in rows.columns if column not in needed and column not in answers]
    if unused:
        logger.info("%s: ignored, not columns of the model: %s", name, listed_names(unused))
    replaced = int((answers[REPLACED] != "").sum()) if REPLACED in answers else 0
    if replaced:
        logger.warning(
            "scored %d rows; in %d of them values were missing or not known: see the column %r",
            len(answers),
            replaced,
            REPLACED,
        )
    else:
        logger.info("scored %d rows", len(answers))
    return answers
