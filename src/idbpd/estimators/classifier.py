"""All tasks are questions with two or more answers."""

from typing import Any, final

import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from idbpd.estimators.base import BaseMultiTask
from idbpd.mtl.kinds import Kind


@final
class RobustMultiTaskClassifier(ClassifierMixin, BaseMultiTask):  # type: ignore[misc]  # scikit-learn has no types
    """Classes of several tasks at once, or of one; its arguments and attributes are those of `BaseMultiTask`.

    ``classes_`` has the classes of y; where y has several columns, it is a list with those of each.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Y = np.column_stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0])
    >>> model = RobustMultiTaskClassifier(weight_decay=1e-3, reserve=0, hidden=8, tolerance=1e-2).fit(X, Y)
    >>> model.predict(X[:2]).shape, model.certificate_["infeasibility"] <= 1e-2
    ((2, 2), True)
    """

    def fit(self, X: Any, y: Any) -> "RobustMultiTaskClassifier":
        """`BaseMultiTask.fit`."""
        super().fit(X, y)
        classes = [column.classes for column in self._columns_]
        self.classes_: Any = classes[0] if self._is_flat_ else classes
        return self

    def predict_proba(self, X: Any) -> Any:
        """The probability of every class for every row; where y has several columns, a list with one array for each."""
        answers = self._answers(X)
        found: list[NDArray[Any]] = [column.probabilities(answers[column.name]) for column in self._columns_]
        return found[0] if self._is_flat_ else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of the priority task; `task_scores` has those of all tasks."""
        return BaseMultiTask.score(self, X, y, sample_weight)

    def _kinds(self, targets: pd.DataFrame) -> dict[str, Kind | None]:
        return dict.fromkeys(targets.columns)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may ask of it."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
