"""Several tracked runs on one page: which is best, whether that is more than chance, and what differs."""

from idbpd.pipelines.run_comparison.pipeline import create_pipeline

__all__ = ["create_pipeline"]
