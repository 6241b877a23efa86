"""The pipelines by name."""

from kedro.pipeline import Pipeline

from idbpd.pipelines import (
    calibration,
    evaluation,
    ingestion,
    prediction,
    reproduction,
    retraining,
    splitting,
    training,
)


def register_pipelines() -> dict[str, Pipeline]:
    """Each stage by its own name, the way from raw data to certificate as the default, and what builds on it."""
    stages = {
        "ingestion": ingestion.create_pipeline(),
        "splitting": splitting.create_pipeline(),
        "calibration": calibration.create_pipeline(),
        "training": training.create_pipeline(),
        "evaluation": evaluation.create_pipeline(),
    }
    default = sum(stages.values(), start=Pipeline([]))
    return {
        "__default__": default,
        **stages,
        "predict": prediction.create_pipeline(),
        "retrain": default + retraining.create_pipeline(),
        "reproduce": reproduction.create_pipeline(),
    }
