"""MLflow: hooks that open and close runs, and datasets that log what they save. Nothing else imports MLflow."""

from typing import TYPE_CHECKING

from idbpd.lazy_names import names_from

if TYPE_CHECKING:
    from idbpd.tracking.benchmark import TrackedCellsDataset
    from idbpd.tracking.champion import ChampionDataset
    from idbpd.tracking.compared_runs import TrackedRunsDataset
    from idbpd.tracking.hook import TrackingHook
    from idbpd.tracking.inputs import TrackedInputDataset
    from idbpd.tracking.model import TrackedModelDataset
    from idbpd.tracking.model_files import verify_model
    from idbpd.tracking.points import TrackedPointsDataset
    from idbpd.tracking.recorded_run import RecordedRunDataset
    from idbpd.tracking.retraining import RetrainingDataset
    from idbpd.tracking.retraining_hook import RetrainingHook
    from idbpd.tracking.scoring import ScoringModelDataset
    from idbpd.tracking.tracked import TrackedDataset

__all__ = [
    "ChampionDataset",
    "RecordedRunDataset",
    "RetrainingDataset",
    "RetrainingHook",
    "ScoringModelDataset",
    "TrackedCellsDataset",
    "TrackedDataset",
    "TrackedInputDataset",
    "TrackedModelDataset",
    "TrackedPointsDataset",
    "TrackedRunsDataset",
    "TrackingHook",
    "verify_model",
]

__getattr__ = names_from(
    __name__,
    {
        "ChampionDataset": "champion",
        "RecordedRunDataset": "recorded_run",
        "RetrainingDataset": "retraining",
        "RetrainingHook": "retraining_hook",
        "ScoringModelDataset": "scoring",
        "TrackedCellsDataset": "benchmark",
        "TrackedDataset": "tracked",
        "TrackedInputDataset": "inputs",
        "TrackedModelDataset": "model",
        "TrackedPointsDataset": "points",
        "TrackedRunsDataset": "compared_runs",
        "TrackingHook": "hook",
        "verify_model": "model_files",
    },
)
