"""Estimators in the style of scikit-learn: what ``kedro run`` does, for a data frame in a script, without Kedro."""

from idbpd.estimators.classifier import RobustMultiTaskClassifier
from idbpd.estimators.mixed import RobustMultiTaskEstimator
from idbpd.estimators.regressor import RobustMultiTaskRegressor

__all__ = ["RobustMultiTaskClassifier", "RobustMultiTaskEstimator", "RobustMultiTaskRegressor"]
