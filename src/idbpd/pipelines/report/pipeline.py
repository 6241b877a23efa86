"""Tracked runs to figures and a page."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.report.figures import draw_figures
from idbpd.pipelines.report.page import write_page


def create_pipeline() -> Pipeline:
    """Nothing is computed again: a figure is redrawn in seconds."""
    return Pipeline(
        [
            Node(draw_figures, inputs="benchmark_cells", outputs="result_figures", name="draw_figures"),
            Node(write_page, inputs="benchmark_cells", outputs="result_page", name="write_page"),
        ]
    )
