"""A folder in the catalog: a path for nodes, and what is removed once a run has succeeded."""

from pathlib import Path

import pytest
from kedro.io import DatasetError

from idbpd.datasets import FolderDataset


def test_it_gives_a_path_and_takes_nothing(tmp_path: Path) -> None:
    folder = FolderDataset(path=str(tmp_path / "states"))
    assert folder.exists()  # although nobody has made it yet
    assert folder.load() == tmp_path / "states"
    with pytest.raises(DatasetError, match="cannot be the output of a node"):
        folder.save("something")
    folder.run_succeeded()


def test_after_success_it_keeps_what_it_was_not_told_to_remove(tmp_path: Path) -> None:
    folder = FolderDataset(path=str(tmp_path), remove_after_success=["*.finished"])
    (tmp_path / "a.finished").touch()
    (tmp_path / "b.state").touch()
    folder.run_succeeded()
    assert [path.name for path in tmp_path.iterdir()] == ["b.state"]
    (tmp_path / "b.state").rename(tmp_path / "b.finished")
    folder.run_succeeded()
    assert not tmp_path.exists()
