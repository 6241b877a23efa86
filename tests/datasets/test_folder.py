"""A folder in the catalog: nodes get the object that keeps files in it, or its path."""

from pathlib import Path

import pytest
from kedro.io import DatasetError

from idbpd.datasets import FolderDataset
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.solving.checkpoints import CheckpointFolder


def test_it_gives_a_path_and_takes_nothing(tmp_path: Path) -> None:
    folder = FolderDataset(path=str(tmp_path / "states"))
    assert folder.exists()  # although nobody has made it yet
    assert folder.load() == tmp_path / "states"
    with pytest.raises(DatasetError, match="cannot be the output of a node"):
        folder.save("something")


def test_it_gives_the_object_that_keeps_the_files(tmp_path: Path) -> None:
    folder = FolderDataset(path=str(tmp_path), kind="idbpd.experiment.solving.checkpoints.CheckpointFolder").load()
    assert isinstance(folder, CheckpointFolder)
    assert folder.folder == tmp_path
    kind, options = "idbpd.experiment.records.content_store.ContentStore", {"what": "result", "kept": 1}
    store = FolderDataset(path=str(tmp_path), kind=kind, options=options).load()
    assert isinstance(store, ContentStore)
    for seed in range(2):
        store.put({"seed": seed}, {}, {})
    assert len(store.keys()) == 1
