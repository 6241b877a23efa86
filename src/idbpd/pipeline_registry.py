"""The pipelines by name."""

from kedro.pipeline import Pipeline

from idbpd.pipelines import calibration, evaluation, ingestion, prediction, splitting, training


def register_pipelines() -> dict[str, Pipeline]:
    """Each stage by its own name, and the way from raw data to certificate as the default."""
    stages = {
        "ingestion": ingestion.create_pipeline(),
        "splitting": splitting.create_pipeline(),
        "calibration": calibration.create_pipeline(),
        "training": training.create_pipeline(),
        "evaluation": evaluation.create_pipeline(),
    }
    whole = sum(stages.values(), start=Pipeline([]))
    return {"__default__": whole, **stages, "predict": prediction.create_pipeline()}
