"""Data and threshold to weights."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.training.nodes import train_constrained, train_unconstrained


def create_pipeline() -> Pipeline:
    """Both models start from the same weights and have the same budget, so that the constraint is all that differs."""
    shared = {
        "train": "train",
        "fingerprint": "fingerprint",
        "calibrated_weights": "calibrated_weights",
        "training": "params:training",
        "model": "params:model",
        "problem": "params:problem",
        "compute": "params:compute",
        "seed": "params:seed",
        "checkpoint": "params:checkpoint",
        "checkpoints": "checkpoints",
    }
    return Pipeline(
        [
            Node(
                train_constrained,
                inputs={**shared, "threshold": "threshold", "methods": "params:methods"},
                outputs=["weights", "history", "outcome"],
                name="train_constrained",
            ),
            Node(train_unconstrained, inputs=shared, outputs="unconstrained_weights", name="train_unconstrained"),
        ]
    )
