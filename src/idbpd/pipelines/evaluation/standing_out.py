"""Columns in which some samples differ from the rest by more than chance would explain."""

from collections.abc import Collection, Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idbpd.datasets.table import StoredFeatures, TaskTable
from idbpd.experiment.features import encoded, feature_names

SHOWN = 8
# Of a table that stays in its file, or has so many numbers with its zeros (1 GB), some rows are looked at: fewer if it
# has many columns.
MOST_NUMBERS, SAMPLE, NUMBERS = 1 << 27, 20_000, 1 << 22
FEWEST = 5  # samples on either side: the deviation of fewer says little
ERROR = 0.05  # the chance that a column is named although no column stands out


def standing_out(
    table: TaskTable,
    rows: NDArray[np.int64],
    members: NDArray[np.bool_],
    encoding: dict[str, Any],
    without: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """The features whose means differ most between ``members`` and the other rows, in deviations, the largest first.

    ``without`` are columns that are not looked at: where members are groups, those that the groups are made of. A
    feature of a category is 0 or 1, and its mean a share. With hundreds of features some differ by chance, so the
    test of each is as strict as their number asks for (Bonferroni).
    """
    if min(members.sum(), (~members).sum()) < FEWEST:
        return
    width = max(1, len(feature_names(encoding)))
    most = min(SAMPLE, NUMBERS // width)
    is_large = isinstance(table.features, StoredFeatures) or len(rows) * width > MOST_NUMBERS
    if is_large and len(rows) > most:
        some = np.linspace(0, len(rows) - 1, most).astype(np.intp)
        rows, members = rows[some], members[some]
        if min(members.sum(), (~members).sum()) < FEWEST:
            return
    values = np.asarray(encoded(table, rows.astype(np.intp), encoding), dtype=np.float64)
    names, columns = feature_names(encoding), _columns(encoding)
    of_members, rest = values[members], values[~members]
    high, low = of_members.mean(axis=0), rest.mean(axis=0)
    # The deviation of all rows, not one of each side: a few members may all have the same value by chance.
    spread = values.std(axis=0)
    error = spread * np.sqrt(1 / len(of_members) + 1 / len(rest))
    certain = NormalDist().inv_cdf(1 - ERROR / 2 / max(len(names), 1))
    looked_at = np.array([columns[name] not in without for name in names])
    differs = looked_at & (np.abs(high - low) > certain * error) & (spread > 0)
    found = np.flatnonzero(differs)
    size = np.abs(high - low)[found] / spread[found]
    for at in found[np.argsort(-size, kind="stable")][:SHOWN]:
        yield {
            "feature": names[at],
            "column": columns[names[at]],
            "is_share": bool(np.isin(values[:, at], (0.0, 1.0)).all()),
            "members": float(high[at]),
            "rest": float(low[at]),
            "difference": float((high[at] - low[at]) / spread[at]),
        }


def _columns(encoding: dict[str, Any]) -> dict[str, str]:
    """The column of the table that each feature was made from."""
    found: dict[str, str] = {}
    for kind in ("numbers", "categories", "dates"):
        for column in encoding[kind]:
            alone = {"numbers": [], "categories": [], "dates": [], kind: [column]}
            found |= dict.fromkeys(feature_names(alone), column["name"])
    return found
