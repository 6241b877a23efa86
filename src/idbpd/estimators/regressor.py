"""All tasks predict numbers."""

from typing import Any, final

import pandas as pd
from sklearn.base import RegressorMixin

from idbpd.estimators.base import BaseMultiTask
from idbpd.mtl.kinds import Kind


@final
class RobustMultiTaskRegressor(RegressorMixin, BaseMultiTask):  # type: ignore[misc]  # scikit-learn has no types
    """Several numbers at once, or one; its arguments and attributes are those of `BaseMultiTask`."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the priority task; `task_scores` has those of all tasks."""
        return BaseMultiTask.score(self, X, y, sample_weight)

    def _kinds(self, targets: pd.DataFrame) -> dict[str, Kind | None]:
        return dict.fromkeys(targets.columns, "number")
