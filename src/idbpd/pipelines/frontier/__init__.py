"""What the priority task gains as the limits of the others are relaxed: a certified model at every step."""

from idbpd.pipelines.frontier.pipeline import create_pipeline

__all__ = ["create_pipeline"]
