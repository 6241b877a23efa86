"""All pipelines of the project by name."""

from kedro.pipeline import Pipeline

from idbpd.pipelines import (
    benchmark,
    calibration,
    energy,
    evaluation,
    frontier,
    ingestion,
    prediction,
    report,
    reproduction,
    retraining,
    splitting,
    training,
    tuning,
    weight_decay,
)


def register_pipelines() -> dict[str, Pipeline]:
    """Each stage by its own name, all stages from raw data to certificate as the default, and what builds on them.

    No pipeline package imports another; they are put together here.
    """
    stages = {
        "ingestion": ingestion.create_pipeline(),
        "splitting": splitting.create_pipeline(),
        "weight_decay": weight_decay.create_pipeline(),
        "calibration": calibration.create_pipeline(),
        "training": training.create_pipeline(),
        "evaluation": evaluation.create_pipeline(),
    }
    default = sum(stages.values(), start=Pipeline([]))
    to_threshold = stages["ingestion"] + stages["splitting"] + stages["weight_decay"] + stages["calibration"]
    return {
        "__default__": default,
        **stages,
        "tune": to_threshold + tuning.create_pipeline(),
        "frontier": to_threshold + frontier.create_pipeline(),
        "energy": to_threshold + energy.create_pipeline(),
        "predict": prediction.create_pipeline(),
        "retrain": default + retraining.create_pipeline(),
        "reproduce": reproduction.create_pipeline(),
        "benchmark": benchmark.create_pipeline() + report.create_summary_pipeline(),
        "report": report.create_pipeline(),
    }
