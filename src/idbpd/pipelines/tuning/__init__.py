"""The paper's grid over the step size gamma and the barrier alpha of Algorithm 1."""

from idbpd.pipelines.tuning.pipeline import create_pipeline

__all__ = ["create_pipeline"]
