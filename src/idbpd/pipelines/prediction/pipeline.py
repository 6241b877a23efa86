"""Rows to answers."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.prediction.nodes import score


def create_pipeline() -> Pipeline:
    """The parameters ``input`` and ``output`` name the files, ``model_uri`` the model."""
    return Pipeline([Node(score, inputs=["features_to_score", "scoring_model"], outputs="predictions", name="score")])
