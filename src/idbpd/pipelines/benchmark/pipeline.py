"""Data sets to tracked runs."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.benchmark.nodes import run_cells


def create_pipeline() -> Pipeline:
    """One node: which cell can run depends on results, so it decides itself what to do next."""
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
                    "tasks": "params:tasks",
                    "priority": "params:priority",
                    "model": "params:model",
                    "problem": "params:problem",
                    "calibration": "params:calibration",
                    "training": "params:training",
                    "compute": "params:compute",
                },
                outputs="benchmark_cells",
                name="run_cells",
            ),
        ]
    )
