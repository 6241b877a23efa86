"""Data and thresholds to fronts."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import CHECKPOINTING, DIVISION, EXPERIMENT, Unbundled
from idbpd.pipelines.frontier.advice import advise
from idbpd.pipelines.frontier.figure import draw_frontier
from idbpd.pipelines.frontier.nodes import measure_fronts, train_fronts
from idbpd.pipelines.frontier.plan import plan_frontier
from idbpd.pipelines.frontier.summary import summarise


def create_pipeline() -> Pipeline:
    """The plan needs the table alone, so that Kedro makes it before anything is trained."""
    shared = {"table": "table", **DIVISION, "calibration": "params:calibration", "frontier": "params:frontier"}
    return Pipeline(
        [
            Node(Unbundled(plan_frontier), inputs=shared, outputs="frontier_priorities", name="plan_frontier"),
            Node(
                Unbundled(train_fronts),
                inputs={
                    **shared,
                    "frontier_priorities": "frontier_priorities",
                    "train": "train",
                    "test": "test",
                    "threshold": "threshold",
                    "calibrated_weights": "calibrated_weights",
                    "single_task_weights": "single_task_weights",
                    "training": "params:training",
                    "methods": "params:methods",
                    "calibration_cache": "calibration_cache",
                    **EXPERIMENT,
                    **CHECKPOINTING,
                },
                outputs="fronts",
                name="train_fronts",
            ),
            Node(
                measure_fronts,
                inputs=["fronts", "table", "encoding", "scaling", "params:split", "params:frontier"],
                outputs=["frontier_points", "frontier"],
                name="measure_fronts",
            ),
            Node(summarise, inputs="frontier", outputs="frontier_summary", name="summarise_frontier"),
            Node(
                advise,
                inputs=["frontier", "params:dataset", "params:priority"],
                outputs="frontier_advice",
                name="advise",
            ),
            Node(draw_frontier, inputs="frontier", outputs="frontier_figure", name="draw_frontier"),
        ]
    )
