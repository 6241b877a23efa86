"""What each constraint task can reach on its own, and so which threshold it must keep."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.calibration.pipeline import create_pipeline

__all__ = ["create_pipeline"]

__getattr__ = names_from(__name__, {"create_pipeline": "pipeline"})  # the estimators use the nodes without Kedro
