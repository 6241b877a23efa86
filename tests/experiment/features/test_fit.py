"""What is learnt from the training rows: the same as scikit-learn's transformers, as plain names and numbers."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from idbpd.datasets.table import TaskTable
from idbpd.experiment.features import encode, encoded, feature_names, fit_encoding
from idbpd.experiment.features.fit import MOST_VALUES, clean_frame, column_transformer
from tests.experiment.features.tables import ROWS, category, date, mixed_table, number, table_of

TRAIN, TEST = np.arange(0, ROWS, 2), np.arange(1, ROWS, 2)


def _matrix_table(features: np.ndarray | csr_array) -> TaskTable:
    names = tuple(f"x{at}" for at in range(features.shape[1]))
    return TaskTable(features, names, np.zeros((features.shape[0], 0), dtype=np.int8), ())


def test_it_encodes_exactly_as_the_fitted_transformers() -> None:
    table = mixed_table()
    assert isinstance(table.features, tuple)
    encoding = json.loads(json.dumps(fit_encoding(table, TRAIN)))
    transformer = column_transformer(list(table.features), TRAIN).fit(clean_frame(list(table.features), TRAIN))
    # Rows with values that were missing or not there in training.
    strange = table_of(
        number("age", [np.nan, 30]),
        category("work", ["Alien", None]),
        number("income", [np.nan, 2.5]),
        category("plan", [None, "perhaps"]),
        date("joined", [None, "2031-05-06"]),
        date("seen", [None, "1955-01-02T03:04:05"]),
    )
    for given, rows in ((table, TRAIN), (table, TEST), (strange, np.arange(2))):
        assert isinstance(given.features, tuple)
        expected = transformer.transform(clean_frame(list(given.features), rows))
        np.testing.assert_array_equal(encode(given.frame(rows), encoding).matrix, expected)
        np.testing.assert_array_equal(encoded(given, rows, encoding), expected.astype(np.float32))
    assert expected.shape[1] == len(feature_names(encoding))


def test_features_have_names_that_say_what_they_are() -> None:
    assert feature_names(fit_encoding(mixed_table(), TRAIN)) == (
        "age",
        "income",
        "income is missing",
        "work=Private",
        "work=State",
        "work=none at all",
        "work is missing",
        "work=rare",
        "plan=no",
        "plan=yes",
        *(f"joined ({part})" for part in ("days", "year, sine", "year, cosine", "week, sine", "week, cosine")),
        "joined is missing",
        *(f"seen ({part})" for part in ("days", "year, sine", "year, cosine", "week, sine", "week, cosine")),
        "seen (day, sine)",
        "seen (day, cosine)",
    )


def test_only_the_given_rows_are_looked_at() -> None:
    table = table_of(number("x", [1, 2, 3, 1e6, np.nan]), category("c", ["a", "b", "a", "b", "only here"]))
    encoding = fit_encoding(table, np.arange(3))
    assert encoding["numbers"] == [{"name": "x", "median": 2.0, "gap": False}]
    assert encoding["categories"] == [{"name": "c", "values": ["a", "b"], "rare": []}]


def test_of_many_values_the_most_frequent_have_a_feature() -> None:
    texts = [f"v{at % 300 if at % 3 else at % 30:03d}" for at in range(30_000)]
    encoding = fit_encoding(table_of(category("city", list(texts))), np.arange(30_000))
    (city,) = encoding["categories"]
    assert len(city["values"]) == MOST_VALUES - 1
    assert len(city["values"]) + len(city["rare"]) == len(set(texts))
    assert "v000" in city["values"]
    assert feature_names(encoding)[-1] == "city=rare"


def test_a_column_without_any_value_says_nothing_but_does_no_harm() -> None:
    table = table_of(number("x", [np.nan] * 4), category("c", [None] * 4), date("d", [None] * 4))
    encoding = fit_encoding(table, np.arange(4))
    matrix = encoded(table, np.arange(4), encoding)
    assert np.isfinite(matrix).all()
    assert (matrix == matrix[0]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_matrix_of_numbers_stays_as_it_is(sparse: bool) -> None:
    dense = np.random.default_rng(0).poisson(0.7, (50, 6)).astype(np.float32)
    table = _matrix_table(csr_array(dense) if sparse else dense)
    encoding = json.loads(json.dumps(fit_encoding(table, np.arange(40))))
    assert [column["median"] for column in encoding["numbers"]] == np.median(dense[:40], axis=0).tolist()
    np.testing.assert_array_equal(encoded(table, np.arange(40, 50), encoding), dense[40:])
    np.testing.assert_array_equal(encode(table.frame(np.arange(40, 50)), encoding).matrix, dense[40:])


def test_gaps_of_a_matrix_are_filled_as_in_a_file_to_score() -> None:
    dense = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    dense[::7, 1] = np.nan
    dense[45, 2] = np.nan  # not in the training rows
    table = _matrix_table(dense)
    encoding = fit_encoding(table, np.arange(40))
    assert feature_names(encoding) == ("x0", "x1", "x2", "x1 is missing")
    given = encoded(table, np.arange(50), encoding)
    assert given.dtype == np.float32
    assert given[45, 2] == np.median(dense[:40, 2])
    np.testing.assert_allclose(given, encode(table.frame(np.arange(50)), encoding).matrix, rtol=1e-7)
