"""Training data to threshold."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.calibration import calibrate
from idbpd.experiment.node_inputs import CHECKPOINTING, EXPERIMENT, Unbundled


def create_pipeline() -> Pipeline:
    """The calibrated weights are kept: they are a feasible start for training. Each task alone is compared with later.

    The node function is in `idbpd.experiment`, because the benchmark calibrates with it too.
    """
    return Pipeline(
        [
            Node(
                Unbundled(calibrate),
                inputs={
                    "train": "train",
                    "calibration": "params:calibration",
                    "calibration_cache": "calibration_cache",
                    **EXPERIMENT,
                    **CHECKPOINTING,
                },
                outputs=["threshold", "calibrated_weights", "single_task_weights"],
                name="calibrate",
            )
        ]
    )
