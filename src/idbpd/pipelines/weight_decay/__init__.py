"""The weight decay: a number set by hand, or one chosen on validation data."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.weight_decay.pipeline import create_pipeline

__all__ = ["create_pipeline"]

__getattr__ = names_from(__name__, {"create_pipeline": "pipeline"})  # the estimators use the nodes without Kedro
