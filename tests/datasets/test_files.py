import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from kedro.io import AbstractDataset, DatasetError

from idbpd.datasets import AtomicDataset, MultiTaskDataset, TensorsDataset
from idbpd.datasets.partial import replacing
from idbpd.mtl import DISTRIBUTION, MultiTaskData, Task


class _FailsHalfway(AbstractDataset[Any, str]):
    def __init__(self, filepath: str) -> None:
        self._path = Path(filepath)

    def load(self) -> str:
        return self._path.read_text()

    def save(self, data: Any) -> None:
        with self._path.open("w") as file:
            file.write("half of ")
            file.flush()
            if not data:
                raise OSError("disk full")
            file.write(data)

    def _describe(self) -> dict[str, Any]:
        return {}


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "result.txt"
    dataset = AtomicDataset(dataset={"type": _FailsHalfway, "filepath": str(path)})
    assert not dataset.exists()
    dataset.save("it")
    with pytest.raises(DatasetError, match="disk full"):
        dataset.save("")
    assert dataset.load() == "half of it"
    assert [file.name for file in path.parent.iterdir()] == ["result.txt"]


def test_a_first_save_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with replacing(tmp_path / "a.txt") as partial:
            partial.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_any_kedro_dataset_can_be_atomic(tmp_path: Path) -> None:
    frame = pd.DataFrame({"step": [0, 1], "objective": [2.0, 1.0]})
    dataset = AtomicDataset(dataset={"type": "pandas.ParquetDataset", "filepath": str(tmp_path / "history.parquet")})
    dataset.save(frame)
    pd.testing.assert_frame_equal(dataset.load(), frame)


def test_an_atomic_dataset_can_go_to_another_process(tmp_path: Path) -> None:
    dataset = AtomicDataset(dataset={"type": "json.JSONDataset", "filepath": str(tmp_path / "a.json")})
    pickle.loads(pickle.dumps(dataset)).save({"a": 1})
    assert dataset.load() == {"a": 1}


def test_an_atomic_dataset_without_a_file_is_refused() -> None:
    with pytest.raises(DatasetError, match="needs a dataset with a 'filepath'"):
        AbstractDataset.from_config("x", {"type": "idbpd.datasets.AtomicDataset", "dataset": {"type": "MemoryDataset"}})


def test_tensors_come_back_as_they_were(tmp_path: Path) -> None:
    tensors = {"weight": torch.randn(3, 4).t(), "bias": torch.randn(2, dtype=torch.float64)}
    dataset = TensorsDataset(filepath=str(tmp_path / "weights.safetensors"))
    dataset.save(tensors)
    loaded = dataset.load()
    assert list(loaded) == ["bias", "weight"]
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name], tensor)
        assert loaded[name].dtype == tensor.dtype


def test_tasks_come_back_as_they_were(tmp_path: Path) -> None:
    task = Task("priority", ("a", "b"), torch.tensor([0, 2]), torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    options = {"worst_case": {"groups": "region"}}
    rows, targets = task.rows.clone(), task.targets.clone()
    grouped = Task("other", ("a", "b"), rows, targets, DISTRIBUTION, options, torch.tensor([1, 0]), ("north", "south"))
    data = MultiTaskData(torch.randn(3, 5), (task, grouped))
    dataset = MultiTaskDataset(filepath=str(tmp_path / "train.safetensors"))
    dataset.save(data)
    loaded = dataset.load()
    assert torch.equal(loaded.table, data.table)
    assert (loaded["priority"].name, loaded["priority"].labels) == ("priority", ("a", "b"))
    assert torch.equal(loaded["priority"].rows, task.rows)
    assert torch.equal(loaded["priority"].targets, task.targets)
    assert loaded["priority"].groups is None
    assert (loaded["other"].options, loaded["other"].group_names) == (options, ("north", "south"))
    assert loaded["other"].groups is not None
    assert loaded["other"].groups.tolist() == [1, 0]
