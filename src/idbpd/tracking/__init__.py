"""MLflow at the edge: a hook that opens and closes runs, and datasets that log what they save."""

from idbpd.tracking.benchmark import TrackedCellsDataset
from idbpd.tracking.hook import TrackingHook
from idbpd.tracking.model import TrackedModelDataset
from idbpd.tracking.tracked import TrackedDataset

__all__ = ["TrackedCellsDataset", "TrackedDataset", "TrackedModelDataset", "TrackingHook"]
