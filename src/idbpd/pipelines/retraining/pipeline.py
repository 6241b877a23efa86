"""Certificate to verdict."""

from kedro.pipeline import Node, Pipeline

from idbpd.pipelines.retraining.nodes import conclude, judge, mark_rows, measure_champion


def create_pipeline() -> Pipeline:
    """The steps after evaluation when a model is trained to replace the one in use."""
    return Pipeline(
        [
            Node(mark_rows, inputs=["table", "rows"], outputs="seen_rows", name="mark_rows"),
            Node(
                measure_champion,
                inputs={
                    "champion": "champion",
                    "table": "table",
                    "train": "train",
                    "test": "test",
                    "rows": "rows",
                    "weights": "weights",
                    "single_task_weights": "single_task_weights",
                    "certificate": "certificate",
                    "model": "params:model",
                    "problem": "problem",
                },
                outputs="comparison_with_champion",
                name="measure_champion",
            ),
            Node(
                judge,
                inputs=["certificate", "quality", "comparison_with_champion", "test", "params:retrain"],
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
