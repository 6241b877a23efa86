"""Scikit-learn's own checks of an estimator, and its tools around one."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from idbpd.estimators import RobustMultiTaskClassifier, RobustMultiTaskEstimator, RobustMultiTaskRegressor

# The checks fit a hundred models to a few dozen rows each, and look at how, not at how well.
SMALL: dict[str, Any] = {
    "hidden": 4,
    "max_steps": 15,
    "tolerance": 0.05,
    "weight_decay": 1e-2,
    "reserve": 0.0,
    "worst_case": "mean",
    "beyond_limits": 0.0,
}
_BY_TASK = "predict_proba answers with an array for each task, by its name, and the check takes it for an array"
_NO_CLASSIFIER = "the check asks everything that has predict_proba for the tags of a classifier, and this is none"
EXPECTED_FAILURES = {
    "check_estimator_sparse_array": _NO_CLASSIFIER,
    "check_estimator_sparse_matrix": _NO_CLASSIFIER,
    "check_estimators_pickle": _BY_TASK,
    "check_methods_sample_order_invariance": _BY_TASK,
    "check_methods_subset_invariance": _BY_TASK,
    "check_fit_idempotent": _BY_TASK,
}


def _expected_failures(estimator: Any) -> dict[str, str]:
    return EXPECTED_FAILURES if isinstance(estimator, RobustMultiTaskEstimator) else {}


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [kind(**SMALL) for kind in (RobustMultiTaskClassifier, RobustMultiTaskRegressor, RobustMultiTaskEstimator)],
    expected_failed_checks=_expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_scikit_learn_tools_take_several_tasks() -> None:
    X, first = make_classification(90, 5, random_state=0)
    Y = np.column_stack([first, X[:, 0] > 0])
    # With a loose tolerance a solve may end near the start, where a model still guesses.
    exact = {**SMALL, "max_steps": 60, "tolerance": 1e-3}
    pipeline = make_pipeline(StandardScaler(), RobustMultiTaskClassifier(**exact))
    scores = cross_val_score(pipeline, X, Y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6
    grid = GridSearchCV(clone(pipeline), {"robustmultitaskclassifier__slack": [0.0, 0.5]}, cv=2).fit(X, Y)
    assert grid.best_estimator_.predict(X).shape == (90, 2)


@pytest.mark.parametrize("kind", [RobustMultiTaskClassifier, RobustMultiTaskRegressor, RobustMultiTaskEstimator])
def test_an_estimator_shows_only_what_was_changed(kind: Any) -> None:
    assert repr(kind(slack=0.2)) == f"{kind.__name__}(slack=0.2)"
