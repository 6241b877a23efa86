"""From a file of rows to the answers that a trained model gives."""

from idbpd.pipelines.prediction.pipeline import create_pipeline

__all__ = ["create_pipeline"]
