"""From data and threshold to a model: with the constraint, and without it for comparison."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.training.pipeline import create_pipeline

__all__ = ["create_pipeline"]

__getattr__ = names_from(__name__, {"create_pipeline": "pipeline"})  # the estimators use the nodes without Kedro
