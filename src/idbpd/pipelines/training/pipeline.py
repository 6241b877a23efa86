"""Data and threshold to weights."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.training.nodes import train_constrained, train_equal_weights, train_unconstrained


def create_pipeline() -> Pipeline:
    """All models start from the same weights and have the same budget: they differ in what they minimise alone."""
    shared = {
        "train": "train",
        "fingerprint": "fingerprint",
        "calibrated_weights": "calibrated_weights",
        "training": "params:training",
        "model": "params:model",
        "problem": "problem",
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
                outputs=["weights", "history", "clock", "outcome"],
                name="train_constrained",
            ),
            Node(train_unconstrained, inputs=shared, outputs="unconstrained_weights", name="train_unconstrained"),
            Node(train_equal_weights, inputs=shared, outputs="equal_weights", name="train_equal_weights"),
        ]
    )
