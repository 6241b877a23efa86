"""Results are kept one by one, and nothing that is not whole is taken for one."""

from pathlib import Path

import pytest
import torch

from idbpd.datasets import ResultsDataset, StoredResult

RESULT = StoredResult("abc", {"metrics": {"seconds": 1.5}}, {"weights": torch.arange(3.0)})


@pytest.fixture
def folder(tmp_path: Path) -> ResultsDataset:
    return ResultsDataset(folder=str(tmp_path / "results"))


def test_saved_results_are_read_back_with_a_message(folder: ResultsDataset) -> None:
    folder.save(RESULT)
    (read,) = [load() for load in folder.load().values()]
    assert (read.key, read.record, read.reused) == ("abc", RESULT.record, True)
    torch.testing.assert_close(read.tensors["weights"], RESULT.tensors["weights"])


def test_an_empty_folder_has_no_results(folder: ResultsDataset) -> None:
    assert folder.exists()
    assert folder.load() == {}


def test_a_failure_is_not_kept(folder: ResultsDataset) -> None:
    folder.save(StoredResult("abc", {}, failed="no luck"))
    assert folder.load() == {}


def test_a_file_that_was_cut_off_is_not_a_result(folder: ResultsDataset, tmp_path: Path) -> None:
    folder.save(RESULT)
    (path,) = (tmp_path / "results").iterdir()
    path.write_bytes(path.read_bytes()[:20])
    assert folder.load() == {}
