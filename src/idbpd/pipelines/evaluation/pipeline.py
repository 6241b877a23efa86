"""Weights to certificate."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.evaluation.figures import draw_kkt_curves
from idbpd.pipelines.evaluation.nodes import certify, compare, export


def create_pipeline() -> Pipeline:
    """Nothing here trusts what training said of itself: all is measured on the saved weights."""
    return Pipeline(
        [
            Node(
                certify,
                inputs={
                    "train": "train",
                    "test": "test",
                    "weights": "weights",
                    "outcome": "outcome",
                    "threshold": "threshold",
                    "fingerprint": "fingerprint",
                    "seed": "params:seed",
                    "model": "params:model",
                    "problem": "params:problem",
                    "compute": "params:compute",
                    "split": "params:split",
                },
                outputs="certificate",
                name="certify",
            ),
            Node(
                compare,
                inputs={
                    "train": "train",
                    "test": "test",
                    "weights": "weights",
                    "unconstrained_weights": "unconstrained_weights",
                    "certificate": "certificate",
                    "model": "params:model",
                    "problem": "params:problem",
                    "split": "params:split",
                },
                outputs=["quality", "summary"],
                name="compare",
            ),
            Node(export, inputs=["train", "scaling", "weights", "params:model"], outputs="model", name="export"),
            Node(draw_kkt_curves, inputs=["history", "certificate"], outputs="kkt_curves", name="draw_kkt_curves"),
        ]
    )
