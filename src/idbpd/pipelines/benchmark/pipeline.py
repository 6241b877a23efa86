"""Data sets to tracked runs to a table."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.benchmark.nodes import run_cells
from idbpd.pipelines.report.tables import summarise


def create_pipeline() -> Pipeline:
    """The table is made from what was tracked, like the figures and the page of the pipeline ``report``."""
    return Pipeline(
        [
            Node(
                run_cells,
                inputs={
                    "sources": "sources",
                    "stored": "stored_results",
                    "benchmark": "params:benchmark",
                    "split": "params:split",
                    "features": "params:features",
                    "model": "params:model",
                    "problem": "params:problem",
                    "calibration": "params:calibration",
                    "training": "params:training",
                    "compute": "params:compute",
                },
                outputs="benchmark_cells",
                name="run_cells",
            ),
            Node(summarise, inputs="benchmark_cells", outputs="benchmark_summary", name="summarise_cells"),
        ]
    )
