"""Tasks of different kinds: questions with two or more answers, and numbers."""

from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from idbpd.errors import ConfigurationError
from idbpd.estimators.base import BaseMultiTask
from idbpd.estimators.targets import inferred_kind_of
from idbpd.mtl.kinds import Kind

KINDS: tuple[Kind, ...] = ("binary", "classes", "number")


@final
class RobustMultiTaskEstimator(BaseMultiTask):
    """Yes or no, classes and numbers at once; its arguments and attributes are those of `BaseMultiTask`.

    The kind of a task is found from its column as that of a table is: two values are yes or no, texts and a few whole
    numbers are classes, all else are numbers. The option ``kind`` in ``tasks`` overrules that.
    """

    def fit(self, X: Any, y: Any) -> "RobustMultiTaskEstimator":
        """`BaseMultiTask.fit`; ``classes_`` has the classes of each task by its name, and nothing of numbers."""
        super().fit(X, y)
        self.classes_ = {one.name: one.classes for one in self._columns_ if one.classes is not None}
        return self

    def predict_proba(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """The probability of every class (``classes_``) for every row, by the name of the task; numbers have none."""
        answers = self._answers(X)
        return {one.name: one.probabilities(answers[one.name]) for one in self._columns_ if one.classes is not None}

    def _kinds(self, targets: pd.DataFrame) -> dict[str, Kind | None]:
        stated = {name: options["kind"] for name, options in super()._options().items() if "kind" in options}
        for name, kind in stated.items():
            if kind not in KINDS:
                raise ConfigurationError(f"tasks.{name}.kind = {kind!r} is not valid; kinds are {', '.join(KINDS)}")
        names = [str(name) for name in targets.columns]
        return {name: stated.get(name) or inferred_kind_of(targets[name]) for name in names}

    def _options(self) -> dict[str, Any]:
        kept = super()._options().items()
        return {name: {key: value for key, value in of.items() if key != "kind"} for name, of in kept}
