"""The certificate, the comparison and the figures, all computed from the saved weights."""

from idbpd.pipelines.evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
