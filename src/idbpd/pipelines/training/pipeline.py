"""Data and threshold to weights."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import CHECKPOINTING, DIVISION, EXPERIMENT, Unbundled
from idbpd.pipelines.training.comparison_nodes import train_equal_weights, train_fixed_weights, train_unconstrained
from idbpd.pipelines.training.nodes import train_constrained


def create_pipeline() -> Pipeline:
    """All models start from the same weights and have the same budget: they differ only in what they minimise."""
    shared = {
        "train": "train",
        "calibrated_weights": "calibrated_weights",
        "training": "params:training",
        **EXPERIMENT,
        **CHECKPOINTING,
    }
    return Pipeline(
        [
            Node(
                Unbundled(train_constrained),
                inputs={**shared, "threshold": "threshold", "methods": "params:methods"},
                outputs=["weights", "history", "clock", "outcome"],
                name="train_constrained",
            ),
            Node(
                Unbundled(train_unconstrained),
                inputs=shared,
                outputs="unconstrained_weights",
                name="train_unconstrained",
            ),
            Node(Unbundled(train_equal_weights), inputs=shared, outputs="equal_weights", name="train_equal_weights"),
            Node(
                Unbundled(train_fixed_weights),
                inputs={
                    **shared,
                    **DIVISION,
                    "table": "table",
                    "rows": "rows",
                    "threshold": "threshold",
                    "comparison": "params:comparison",
                },
                outputs=["fixed_weights", "sweep"],
                name="train_fixed_weights",
            ),
        ]
    )
