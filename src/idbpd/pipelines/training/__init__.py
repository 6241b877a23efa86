"""From data and threshold to a model: with the constraint, and without it for comparison."""

from idbpd.pipelines.training.pipeline import create_pipeline

__all__ = ["create_pipeline"]
