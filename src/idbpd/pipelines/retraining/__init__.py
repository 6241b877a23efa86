"""Is the new model fit to take the place of the one in use?"""

from idbpd.pipelines.retraining.pipeline import create_pipeline

__all__ = ["create_pipeline"]
