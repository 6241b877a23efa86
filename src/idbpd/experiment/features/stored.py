"""Encode and scale features that stay in their files: learnt column by column, applied block by block.

It gives the encoding that `fit_encoding` learns and the numbers that `encoded` makes, without a table in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from idbpd.datasets.table import Column, StoredFeatures
from idbpd.experiment.features.encoding import DAY, date_parts, feature_names
from idbpd.experiment.features.fit import MOST_VALUES, fewest_rows
from idbpd.mtl import FeatureScaling, fit_scaling
from idbpd.mtl.scaling import Kind

Rows = NDArray[np.intp]


def fit_stored(features: StoredFeatures, rows: Rows, kind: Kind) -> tuple[dict[str, Any], FeatureScaling]:
    """Encoding and scaling, learnt from some rows."""
    by_role: dict[str, list[dict[str, Any]]] = {"number": [], "category": [], "date": []}
    scaled: dict[str, tuple[float, float]] = {}  # by the name of the encoded feature
    for at in range(features.shape[1]):
        column = features.column(at)
        values = column.values[rows]
        record = _record(column, values)
        by_role[column.role].append(record)
        scaled |= _scales(column, record, values, kind)
    encoding = {
        "columns": [name for name, _ in features.roles()],
        "numbers": by_role["number"],
        "categories": by_role["category"],
        "dates": by_role["date"],
    }
    centers, scales = zip(*(scaled[name] for name in feature_names(encoding)), strict=True)
    return encoding, FeatureScaling(torch.tensor(centers), torch.tensor(scales))


@dataclass(frozen=True)
class EncodedBlocks:
    """The scaled features of some rows of a stored table, in their order."""

    features: StoredFeatures
    rows: Rows  # ascending
    encoding: Mapping[str, Any]
    scaling: FeatureScaling

    @property
    def is_sparse(self) -> bool:
        """Whether most of the features are zeros, and scaling has left them so."""
        return self.features.is_sparse and not bool(self.scaling.center.any())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.rows), len(feature_names(self.encoding))

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """A block for every block of the files that has one of the rows."""
        for begin, columns in self.features.blocks():
            first, last = np.searchsorted(self.rows, [begin, begin + len(columns[0].values)])
            if first < last:
                raw = torch.from_numpy(encode_columns(columns, self.rows[first:last] - begin, self.encoding))
                yield self.scaling(raw).numpy()


def encode_columns(columns: Sequence[Column], rows: Rows, encoding: Mapping[str, Any]) -> NDArray[np.float32]:
    """What `encode` makes of these rows, from columns that are read already."""
    by_name = {column.name: column for column in columns}
    matrix = np.zeros((len(rows), len(feature_names(encoding))), dtype=np.float32)
    at = len(encoding["numbers"])
    for place, record in enumerate(encoding["numbers"]):
        values = by_name[record["name"]].values[rows]
        missing = np.isnan(values)
        matrix[:, place] = np.where(missing, record["median"], values)
        if record["gap"]:
            matrix[:, at] = missing
            at += 1
    for record in encoding["categories"]:
        column = by_name[record["name"]]
        places = _places(column, record)[column.values[rows]]
        seen = np.flatnonzero(places >= 0)
        matrix[seen, at + places[seen]] = 1
        at += len(record["values"]) + bool(record["rare"])
    for record in encoding["dates"]:
        values = by_name[record["name"]].values[rows]
        missing = np.isnan(values)
        parts = date_parts(np.where(missing, record["median"], values), record["times"])
        matrix[:, at : at + parts.shape[1]] = parts
        at += parts.shape[1]
        if record["gap"]:
            matrix[:, at] = missing
            at += 1
    return matrix


def _places(column: Column, record: Mapping[str, Any]) -> NDArray[np.intp]:
    """The feature of every category; the last is that of a missing value, whose code is -1."""
    unseen = len(record["values"]) if record["rare"] else -1
    place = {text: at for at, text in enumerate(record["values"])} | dict.fromkeys(record["rare"], unseen)
    return np.array([place.get(text, unseen) for text in (*column.categories, None)], dtype=np.intp)


def _record(column: Column, values: NDArray[Any]) -> dict[str, Any]:
    if column.role == "category":
        return {"name": column.name, **_categories(column, values)}
    known = values[~np.isnan(values)]
    record = {
        "name": column.name,
        "median": float(np.median(known)) if len(known) else 0.0,
        "gap": len(known) < len(values),
    }
    return record | ({"times": bool((known % DAY > 0).any())} if column.role == "date" else {})


def _categories(column: Column, codes: NDArray[Any]) -> dict[str, Any]:
    """The values with a feature of their own and the rare ones, by the rules of scikit-learn's one-hot encoder."""
    counts = np.bincount(codes + 1, minlength=len(column.categories) + 1)
    texts: list[str | None] = [*column.categories, None]
    counts = np.append(counts[1:], counts[0])  # a missing value is the last
    order = sorted((at for at in range(len(texts) - 1) if counts[at]), key=lambda at: str(texts[at]))
    order += [len(texts) - 1] if counts[-1] else []
    ordered = counts[order]
    rare = ordered < fewest_rows(len(codes))
    if len(ordered) - rare.sum() + bool(rare.any()) > MOST_VALUES:
        rare[np.argsort(ordered, kind="mergesort")[: -(MOST_VALUES - 1)]] = True
    values = [texts[at] for at, is_rare in zip(order, rare, strict=True) if not is_rare]
    return {"values": values, "rare": [texts[at] for at, is_rare in zip(order, rare, strict=True) if is_rare]}


def _scales(
    column: Column, record: Mapping[str, Any], values: NDArray[Any], kind: Kind
) -> dict[str, tuple[float, float]]:
    """Center and scale of every feature that a column becomes."""
    role = {"number": "numbers", "category": "categories", "date": "dates"}[column.role]
    alone: dict[str, Any] = {"numbers": [], "categories": [], "dates": [], role: [record]}
    names = feature_names(alone)
    if column.role != "category":
        made = encode_columns([Column(column.name, column.role, values)], np.arange(len(values)), alone)
        fitted = fit_scaling(torch.from_numpy(made), kind)
        return dict(zip(names, zip(fitted.center.tolist(), fitted.scale.tolist(), strict=True), strict=True))
    places = _places(column, record)
    counts = np.bincount(places[values] + 1, minlength=len(names) + 1)[1:]
    found = {}
    for name, count in zip(names, counts.tolist(), strict=True):
        share = count / len(values)
        constant = count in (0, len(values))
        found[name] = {
            "none": (0.0, 1.0),
            "standard": (share, 1.0 if constant else float(np.sqrt(share * (1 - share)))),
            "minmax": (float(count == len(values)), 1.0),
            "maximum": (0.0, 1.0),
        }[kind]
    return found
