"""The report of a run as one HTML page: what its sections say, and how they are drawn."""

from idbpd.pipelines.evaluation.page.write import write_report

__all__ = ["write_report"]
