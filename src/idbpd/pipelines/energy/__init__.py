"""From data and thresholds to a pruned model within an energy budget."""

from idbpd.pipelines.energy.pipeline import create_pipeline

__all__ = ["create_pipeline"]
