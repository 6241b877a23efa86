"""The weight decay: a number set by hand, or one chosen on validation data."""

from idbpd.pipelines.weight_decay.pipeline import create_pipeline

__all__ = ["create_pipeline"]
