"""Whether a tracked run gives the same result again, to the last bit."""

from idbpd.pipelines.reproduction.pipeline import create_pipeline

__all__ = ["create_pipeline"]
