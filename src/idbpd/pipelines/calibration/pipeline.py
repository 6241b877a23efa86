"""Training data to thresholds."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import CHECKPOINTING, DIVISION, EXPERIMENT, Unbundled
from idbpd.pipelines.calibration.nodes import calibrate_with_reserve, settle_reserve


def create_pipeline() -> Pipeline:
    """The calibrated weights are kept: they are a feasible start for training. Each task alone is compared with later.

    What calibrates is in `idbpd.experiment`, because the benchmark calibrates with it too.
    """
    shared = {"calibration": "params:calibration", **EXPERIMENT, **CHECKPOINTING}
    return Pipeline(
        [
            Node(
                Unbundled(settle_reserve),
                inputs={
                    **shared,
                    **DIVISION,
                    "train": "train",
                    "table": "table",
                    "rows": "rows",
                    "weight_decay_search": "params:weight_decay_search",
                    "validated_weights": "validated_weights",
                    "training": "params:training",
                },
                outputs="reserve",
                name="settle_reserve",
            ),
            Node(
                Unbundled(calibrate_with_reserve),
                inputs={**shared, "train": "train", "reserve": "reserve", "calibration_cache": "calibration_cache"},
                outputs=["threshold", "calibrated_weights", "single_task_weights"],
                name="calibrate",
            ),
        ]
    )
