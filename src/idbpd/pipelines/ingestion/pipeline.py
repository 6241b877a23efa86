"""Source to table."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.ingestion.nodes import ingest


def create_pipeline() -> Pipeline:
    """``source`` is the catalog entry of the data set that the parameter ``dataset`` names."""
    return Pipeline([Node(ingest, inputs="source", outputs="table", name="ingest")])
