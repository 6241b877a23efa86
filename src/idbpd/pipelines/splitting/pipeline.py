"""Table to tasks."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.splitting.nodes import split


def create_pipeline() -> Pipeline:
    """One node: the split by rows, the split by labels and the scaling, which knows the training rows only."""
    return Pipeline(
        [
            Node(
                split,
                inputs=["table", "params:split", "params:features"],
                outputs=["train", "test", "scaling", "fingerprint"],
                name="split",
            )
        ]
    )
