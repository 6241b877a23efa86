"""Whether a new model may replace the one in use."""

from idbpd.pipelines.retraining.pipeline import create_pipeline

__all__ = ["create_pipeline"]
