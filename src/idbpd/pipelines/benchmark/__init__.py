"""Many methods on many data sets: same start, same thresholds, same time, same measure."""

from idbpd.pipelines.benchmark.pipeline import create_pipeline

__all__ = ["create_pipeline"]
