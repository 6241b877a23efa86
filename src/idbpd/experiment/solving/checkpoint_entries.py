"""Clear the checkpoints of a pipeline. Not in `checkpoints`, because that module does not import Kedro."""

from collections.abc import Iterable

from idbpd.datasets import FolderDataset
from idbpd.experiment.solving.checkpoints import CheckpointFolder


def clear_checkpoints(entries: Iterable[object]) -> None:
    """Clear the checkpoint folders among the entries of a catalog: their pipeline has succeeded."""
    for entry in entries:
        folder = entry.load() if isinstance(entry, FolderDataset) else None
        if isinstance(folder, CheckpointFolder):
            folder.run_succeeded()
