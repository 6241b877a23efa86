"""All pipelines of the project by name."""

from kedro.pipeline import Pipeline

# Known without the seconds that the pipelines take to import: a mistyped name is refused at once.
STAGES = ("ingestion", "splitting", "weight_decay", "calibration", "training", "evaluation")
NAMES = (
    "__default__",
    *STAGES,
    *("tune", "frontier", "energy", "predict", "retrain", "reproduce", "benchmark", "report", "compare"),
)


def register_pipelines() -> dict[str, Pipeline]:
    """Each stage by its own name, all stages from raw data to certificate as the default, and what builds on them.

    No pipeline package imports another; they are put together here. A node has its stage as a tag, by which Kedro-Viz
    shows one stage inside of a larger pipeline.
    """
    from idbpd.pipelines import (  # noqa: PLC0415
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
        run_comparison,
        splitting,
        training,
        tuning,
        weight_decay,
    )

    created = {
        "ingestion": ingestion.create_pipeline(),
        "splitting": splitting.create_pipeline(),
        "weight_decay": weight_decay.create_pipeline(),
        "calibration": calibration.create_pipeline(),
        "training": training.create_pipeline(),
        "evaluation": evaluation.create_pipeline(),
    }
    stages = {name: pipeline.tag(name) for name, pipeline in created.items()}
    default = sum(stages.values(), start=Pipeline([]))
    to_threshold = stages["ingestion"] + stages["splitting"] + stages["weight_decay"] + stages["calibration"]
    pipelines = {
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
        "compare": run_comparison.create_pipeline(),
    }
    assert tuple(pipelines) == NAMES
    return pipelines
