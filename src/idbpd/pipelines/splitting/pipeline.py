"""Table to tasks."""

from kedro.pipeline import Node, Pipeline

from idbpd.experiment.node_inputs import DIVISION, Unbundled
from idbpd.experiment.splitting.table_split import split_any


def create_pipeline() -> Pipeline:
    """One node: rows, tasks, and how columns become features, which is learnt from the training rows alone.

    The node function is in `idbpd.experiment`, because the benchmark splits with it too. The rows are kept for the
    search of a weight decay, which divides the training part once more.
    """
    return Pipeline(
        [
            Node(
                Unbundled(split_any),
                inputs={"table": "table", **DIVISION},
                outputs=["train", "test", "scaling", "encoding", "rows", "fingerprint"],
                name="split",
            )
        ]
    )
