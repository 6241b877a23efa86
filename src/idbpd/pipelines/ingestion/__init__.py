"""From a source, whatever its format, to one checked table."""

from idbpd.pipelines.ingestion.pipeline import create_pipeline

__all__ = ["create_pipeline"]
