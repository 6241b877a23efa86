"""From a table to a training and a test part, each with a priority and a constraint task."""

from idbpd.pipelines.splitting.pipeline import create_pipeline

__all__ = ["create_pipeline"]
