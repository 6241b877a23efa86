"""Figures and the page of results, made from tracked runs alone."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.pipelines.report.pipeline import create_pipeline, create_summary_pipeline

__all__ = ["create_pipeline", "create_summary_pipeline"]

__getattr__ = names_from(
    __name__, {"create_pipeline": "pipeline", "create_summary_pipeline": "pipeline"}
)  # the parameters are checked before torch is imported
