"""Parameters to the problem that is solved."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import DIVISION, EXPERIMENT, Unbundled
from idbpd.pipelines.weight_decay.nodes import settle_weight_decay


def create_pipeline() -> Pipeline:
    """The settled problem is saved: every later stage takes it from there, also in a run that begins later."""
    return Pipeline(
        [
            Node(
                Unbundled(settle_weight_decay),
                inputs={
                    "table": "table",
                    "rows": "rows",
                    "train": "train",
                    "weight_decay_search": "params:weight_decay_search",
                    **DIVISION,
                    "training": "params:training",
                    "weight_decay_cache": "weight_decay_cache",
                    **EXPERIMENT,
                    "problem": "params:problem",  # as people set it; the settled one is an output
                },
                outputs=["problem", "weight_decay", "validated_weights"],
                name="settle_weight_decay",
            ),
        ]
    )
