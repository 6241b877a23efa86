"""From a file of features to the label probabilities that a trained model gives."""

from idbpd.pipelines.prediction.pipeline import create_pipeline

__all__ = ["create_pipeline"]
