"""Training data to threshold."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.calibration.nodes import calibrate


def create_pipeline() -> Pipeline:
    """The calibrated weights are kept: they are a feasible start for training."""
    return Pipeline(
        [
            Node(
                calibrate,
                inputs={
                    "train": "train",
                    "fingerprint": "fingerprint",
                    "calibration": "params:calibration",
                    "model": "params:model",
                    "problem": "problem",
                    "compute": "params:compute",
                    "seed": "params:seed",
                    "checkpoint": "params:checkpoint",
                    "checkpoints": "checkpoints",
                    "calibration_cache": "calibration_cache",
                },
                outputs=["threshold", "calibrated_weights"],
                name="calibrate",
            )
        ]
    )
