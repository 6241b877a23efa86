"""Tracked runs to a page."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.run_comparison.nodes import compare_runs


def create_pipeline() -> Pipeline:
    """One node: nothing is written unless all runs can be read."""
    return Pipeline(
        [
            Node(
                compare_runs,
                inputs=["tracked_runs", "params:compare"],
                outputs=["comparison_verdict", "comparison_summary", "run_comparison"],
                name="compare_runs",
            )
        ]
    )
