"""Figures and the page of results, made from tracked runs alone."""

from idbpd.pipelines.report.pipeline import create_pipeline, create_summary_pipeline

__all__ = ["create_pipeline", "create_summary_pipeline"]
