"""MLflow at the edge: a hook that opens and closes runs, and datasets that log what they save."""

from idbpd.tracking.benchmark import TrackedCellsDataset
from idbpd.tracking.hook import TrackingHook
from idbpd.tracking.inputs import TrackedInputDataset
from idbpd.tracking.model import TrackedModelDataset
from idbpd.tracking.model_files import verify_model
from idbpd.tracking.scoring import ScoringModelDataset
from idbpd.tracking.tracked import TrackedDataset

__all__ = [
    "ScoringModelDataset",
    "TrackedCellsDataset",
    "TrackedDataset",
    "TrackedInputDataset",
    "TrackedModelDataset",
    "TrackingHook",
    "verify_model",
]
