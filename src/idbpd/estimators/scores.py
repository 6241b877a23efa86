"""The score of one task, as scikit-learn's tools expect it: more is better."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score

from idbpd.estimators.targets import TaskColumn


def score(task: TaskColumn, truths: "pd.Series[Any]", predicted: "pd.Series[Any]", sample_weight: Any) -> float:
    """The accuracy, or R² of a number, on the rows whose target is known."""
    known = truths.notna().to_numpy()
    weights = None if sample_weight is None else np.asarray(sample_weight)[known]
    measure = r2_score if task.classes is None else accuracy_score
    return float(measure(truths[known].tolist(), predicted[known].tolist(), sample_weight=weights))
