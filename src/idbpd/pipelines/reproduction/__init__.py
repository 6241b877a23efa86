"""Does a tracked run give the same again, to the last bit?"""

from idbpd.pipelines.reproduction.pipeline import create_pipeline

__all__ = ["create_pipeline"]
