"""Table to tasks."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.splitting.nodes import split


def create_pipeline() -> Pipeline:
    """One node: the split by rows and the split by labels belong together."""
    return Pipeline([Node(split, inputs=["table", "params:split"], outputs=["train", "test"], name="split")])
