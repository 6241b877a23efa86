"""Tracked runs to figures and a page."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.report.figures import draw_figures
from idbpd.pipelines.report.html import write_html
from idbpd.pipelines.report.page import write_page
from idbpd.pipelines.report.tables import summarise


def create_pipeline() -> Pipeline:
    """Everything comes from tracked runs, so a figure is redrawn in seconds."""
    return Pipeline(
        [
            Node(draw_figures, inputs="benchmark_cells", outputs="result_figures", name="draw_figures"),
            Node(write_page, inputs=["benchmark_cells", "params:report"], outputs="result_page", name="write_page"),
            Node(write_html, inputs="benchmark_cells", outputs="result_html", name="write_html"),
        ]
    )


def create_summary_pipeline() -> Pipeline:
    """The table at the end of a benchmark, made from tracked runs like the figures and the page."""
    return Pipeline([Node(summarise, inputs="benchmark_cells", outputs="benchmark_summary", name="summarise_cells")])
