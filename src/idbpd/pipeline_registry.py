"""The pipelines by name."""

from kedro.pipeline import Pipeline

from idbpd.pipelines import calibration, evaluation, ingestion, splitting, training, weight_decay


def register_pipelines() -> dict[str, Pipeline]:
    """Each stage by its own name, and the way from raw data to certificate as the default."""
    stages = {
        "ingestion": ingestion.create_pipeline(),
        "splitting": splitting.create_pipeline(),
        "weight_decay": weight_decay.create_pipeline(),
        "calibration": calibration.create_pipeline(),
        "training": training.create_pipeline(),
        "evaluation": evaluation.create_pipeline(),
    }
    return {"__default__": sum(stages.values(), start=Pipeline([])), **stages}
