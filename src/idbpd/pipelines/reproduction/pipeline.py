"""Recorded run to verdict."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.reproduction.nodes import compare_with_record, repeat


def create_pipeline() -> Pipeline:
    """The run is repeated in a folder of its own: nothing of the project's results is touched."""
    return Pipeline(
        [
            Node(
                repeat,
                inputs=["recorded", "project_folder", "params:run_id", "params:model"],
                outputs="repeated",
                name="repeat",
            ),
            Node(
                compare_with_record,
                inputs=["recorded", "repeated"],
                outputs="reproduction",
                name="compare_with_record",
            ),
        ]
    )
