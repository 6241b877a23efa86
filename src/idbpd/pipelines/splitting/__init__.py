"""From a table to a training and a test part, each with a task to improve and tasks to limit."""

from idbpd.pipelines.splitting.pipeline import create_pipeline

__all__ = ["create_pipeline"]
