from pathlib import Path

import pytest
from kedro.io import DatasetError

from idbpd.datasets import TypedJsonDataset
from idbpd.experiment.parameters import ProblemParameters


def _dataset(path: Path) -> TypedJsonDataset:
    return TypedJsonDataset(filepath=str(path), kind="idbpd.experiment.parameters.ProblemParameters")


def test_saved_values_are_loaded_under_their_public_names(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path / "made" / "problem.json")
    problem = ProblemParameters.model_validate({"lambda": 0.1, "weight_decay": 4e-3})
    dataset.save(problem)
    assert '"lambda": 0.1' in (tmp_path / "made" / "problem.json").read_text()
    assert dataset.load() == problem


def test_a_mistake_in_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_text('{"lambda": 0.1, "weight_decay": -1}')
    with pytest.raises(DatasetError, match=r"problem.json.weight_decay' = -1 is not valid"):
        _dataset(path).load()
    path.write_text("{")
    with pytest.raises(DatasetError, match=r"problem.json is not a JSON file"):
        _dataset(path).load()
