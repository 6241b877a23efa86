"""Robust multi-task training under worst-case constraints, with a certificate."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.estimators import RobustMultiTaskClassifier, RobustMultiTaskEstimator, RobustMultiTaskRegressor
    from idbpd.optim import train_module

__all__ = ["RobustMultiTaskClassifier", "RobustMultiTaskEstimator", "RobustMultiTaskRegressor", "train_module"]

__version__ = "0.1.0"

__getattr__ = names_from(
    __name__,
    {
        "RobustMultiTaskClassifier": "estimators",
        "RobustMultiTaskEstimator": "estimators",
        "RobustMultiTaskRegressor": "estimators",
        "train_module": "optim",
    },
)
