"""Certificate to verdict."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.retraining.nodes import conclude, judge, measure_champion


def create_pipeline() -> Pipeline:
    """The steps after evaluation when a model is trained to replace the one in use."""
    return Pipeline(
        [
            Node(
                measure_champion,
                inputs=["champion", "table", "test", "rows", "problem"],
                outputs="champion_quality",
                name="measure_champion",
            ),
            Node(
                judge,
                inputs=["certificate", "quality", "champion_quality", "test", "params:retrain"],
                outputs=["verdict", "gates"],
                name="judge",
            ),
            Node(
                conclude,
                inputs={
                    "verdict": "verdict",
                    "model": "model",
                    "certificate": "certificate",
                    "fingerprint": "fingerprint",
                    "program": "program",
                },
                outputs="retraining",
                name="conclude",
            ),
        ]
    )
