"""Table to tasks."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.splitting.table_split import split


def create_pipeline() -> Pipeline:
    """One node: the split by rows, the split by labels and the scaling, which is fitted on the training rows alone.

    The node function is in `idbpd.experiment`, because the benchmark splits with it too. The rows are kept for the
    search of a weight decay, which divides the training part once more.
    """
    return Pipeline(
        [
            Node(
                split,
                inputs=["table", "params:split", "params:features"],
                outputs=["train", "test", "scaling", "rows", "fingerprint"],
                name="split",
            )
        ]
    )
