"""Learn an encoding of features from the training rows, with scikit-learn's transformers.

What they learnt is written down as names and numbers: a model must not need scikit-learn, nor a pickle, to be served.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from idbpd.datasets.table import Column, Role, StoredFeatures, TaskTable
from idbpd.experiment.features.encoding import DAY, date_parts, encode

# A value of a category needs enough rows to learn from: five, and one in a thousand, because a scaled feature that so
# few rows have is already 30 deviations large. In a small table one in twenty is enough, or nothing would be left.
FEWEST_ROWS = 5
FEWEST_SHARE = 1 / 1000
FEWEST_SHARE_OF_SMALL = 1 / 20
MOST_VALUES = 100  # of one column


def fit_encoding(table: TaskTable, rows: NDArray[np.intp]) -> dict[str, Any]:
    """The encoding of a table's features, learnt from some rows; see `idbpd.experiment.features.encoding`."""
    if not isinstance(table.features, tuple):
        return _of_matrix(table, rows)
    features = list(table.features)
    transformer = column_transformer(features, rows)
    transformer.fit(clean_frame(features, rows))
    by_role = {role: [column.name for column in features if column.role == role] for role in _ROLES}
    fitted = transformer.named_transformers_
    found = {
        "numbers": _imputed(by_role["number"], fitted["numbers"]) if by_role["number"] else [],
        "categories": _categories(by_role["category"], fitted["categories"]) if by_role["category"] else [],
        "dates": [_date(name, fitted[f"date {name}"]) for name in by_role["date"]],
    }
    written = {column.name: {"written": dict(column.written)} for column in features if column.written}
    of_role = {role: [record | written.get(record["name"], {}) for record in found[role]] for role in found}
    return {"columns": [column.name for column in features], **of_role}


def encoded(table: TaskTable, rows: NDArray[np.intp], encoding: Mapping[str, Any]) -> NDArray[np.float32]:
    """The encoded features of some rows, as the network takes them."""
    if isinstance(table.features, tuple | StoredFeatures):
        return encode(table.frame(rows), encoding).matrix.astype(np.float32)
    matrix = table.dense_features(rows)
    gaps = [at for at, column in enumerate(encoding["numbers"]) if column["gap"]]
    missing = np.isnan(matrix)
    if missing.any():
        medians = np.array([column["median"] for column in encoding["numbers"]], dtype=np.float32)
        matrix = np.where(missing, medians, matrix)
    return np.hstack([matrix, missing[:, gaps].astype(np.float32)]) if gaps else matrix


def column_transformer(features: list[Column], rows: NDArray[np.intp]) -> ColumnTransformer:
    """Scikit-learn's transformers for columns of every role, not yet fitted."""
    names = {role: [column.name for column in features if column.role == role] for role in _ROLES}
    one_hot = OneHotEncoder(
        min_frequency=fewest_rows(len(rows)),
        max_categories=MOST_VALUES,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )
    dates = [
        (f"date {column.name}", _date_transformer(bool((column.values[rows] % DAY > 0).any())), [column.name])
        for column in features
        if column.role == "date"
    ]
    return ColumnTransformer(
        [("numbers", _imputer(), names["number"]), ("categories", one_hot, names["category"]), *dates]
    )


def clean_frame(features: list[Column], rows: NDArray[np.intp]) -> pd.DataFrame:
    """The columns as the transformers take them: dates in seconds, None where a category is missing."""
    return pd.DataFrame(
        {
            column.name: column.series(rows) if column.role == "category" else pd.Series(column.values[rows])
            for column in features
        }
    )


def fewest_rows(rows: int) -> int:
    """How many rows a value of a category must have for a feature of its own.

    >>> [fewest_rows(rows) for rows in (12, 395, 39_000)]
    [1, 5, 39]
    """
    small = min(FEWEST_ROWS, int(np.ceil(rows * FEWEST_SHARE_OF_SMALL)))
    return max(small, int(np.ceil(rows * FEWEST_SHARE)))


_ROLES: tuple[Role, ...] = ("number", "category", "date")


def _imputer() -> SimpleImputer:
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def _date_transformer(times: bool) -> Pipeline:
    return Pipeline([("fill", _imputer()), ("parts", FunctionTransformer(_date_block, kw_args={"times": times}))])


def _date_block(filled: NDArray[np.float64], times: bool) -> NDArray[np.float64]:
    return np.hstack([date_parts(filled[:, 0], times), filled[:, 1:]])


def _imputed(names: list[str], imputer: SimpleImputer) -> list[dict[str, Any]]:
    gaps = set(imputer.indicator_.features_.tolist())
    medians = np.nan_to_num(imputer.statistics_)  # a column without any value has zeros
    return [
        {"name": name, "median": float(median), "gap": at in gaps}
        for at, (name, median) in enumerate(zip(names, medians, strict=True))
    ]


def _categories(names: list[str], one_hot: OneHotEncoder) -> list[dict[str, Any]]:
    found = []
    for name, categories, infrequent in zip(names, one_hot.categories_, one_hot.infrequent_categories_, strict=True):
        rare = [] if infrequent is None else infrequent.tolist()
        shared = set(rare)  # may be thousands
        found.append({"name": name, "values": [value for value in categories if value not in shared], "rare": rare})
    return found


def _date(name: str, transformer: Pipeline) -> dict[str, Any]:
    (record,) = _imputed([name], transformer["fill"])
    return {**record, "times": transformer["parts"].kw_args["times"]}


def _of_matrix(table: TaskTable, rows: NDArray[np.intp]) -> dict[str, Any]:
    """The encoding of a table whose features are all numbers; the matrix is not copied into a data frame."""
    assert not isinstance(table.features, tuple | StoredFeatures)
    part = table.features[rows]
    values = part.data if isinstance(part, csr_array) else part
    if isinstance(part, csr_array) or np.isnan(values).any():
        found = _imputed(list(table.feature_names), _imputer().fit(part))
    else:
        # The same without the masked arrays of the imputer, which take ten times as long.
        medians = np.median(part, axis=0)
        found = [
            {"name": name, "median": float(median), "gap": False}
            for name, median in zip(table.feature_names, medians, strict=True)
        ]
    return {"columns": list(table.feature_names), "numbers": found, "categories": [], "dates": []}
