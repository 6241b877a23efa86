"""What each constraint task can reach on its own, and so which threshold it must keep."""

from idbpd.pipelines.calibration.pipeline import create_pipeline

__all__ = ["create_pipeline"]
