"""The same is not calibrated twice, and what is kept is what would be found again, to the last bit."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from idbpd.errors import ConfigurationError
from idbpd.experiment.limits.calibration import calibrate, weights_alone
from idbpd.experiment.parameters import DEFAULT_CHECKPOINT, CalibrationParameters, ModelParameters
from idbpd.experiment.problem import Experiment, criteria_of
from idbpd.experiment.records.content_store import ContentStore
from idbpd.experiment.solving.checkpoints import CheckpointFolder, Checkpointing
from idbpd.mtl import MultiTaskData
from tests.pipelines.small_tasks import CALIBRATION, COMPUTE, FINGERPRINT, MODEL, PROBLEM, small_tasks

SHORT = CALIBRATION.model_copy(update={"max_steps": 8})


class Calibrating:
    def __init__(self, folder: Path, data: MultiTaskData) -> None:
        self.folder = folder
        self.data = data

    def __call__(
        self,
        calibration: CalibrationParameters = SHORT,
        model: ModelParameters = MODEL,
        fingerprint: dict[str, str] = FINGERPRINT,
        seed: int = 0,
        dtype: str = "float64",
    ) -> tuple[dict[str, Any], dict[str, Tensor], dict[str, Tensor]]:
        compute = COMPUTE.model_copy(update={"dtype": dtype})
        experiment = Experiment(model, PROBLEM, compute, seed, fingerprint)
        checkpointing = Checkpointing(DEFAULT_CHECKPOINT, CheckpointFolder(self.folder / "checkpoints"))
        cache = ContentStore(self.folder / "cache", "calibration")
        return calibrate(self.data, calibration, experiment, checkpointing, cache)

    def files(self) -> list[Path]:
        return sorted((self.folder / "cache").iterdir())


@pytest.fixture
def calibrating(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Calibrating:
    caplog.set_level(logging.INFO)
    return Calibrating(tmp_path, small_tasks(2))


def test_what_is_kept_is_what_would_be_found_again(calibrating: Calibrating, caplog: pytest.LogCaptureFixture) -> None:
    first, weights, _ = calibrating()
    assert "kept from" not in caplog.text
    again, same_weights, _ = calibrating()
    assert again == first  # to the seconds, which are those of the first time
    assert f"(kept from {first['tasks']['second']['made']}: same data, model and seed)" in caplog.text
    calibrating.files()[0].unlink()
    anew, found_again, _ = calibrating()
    assert anew["tasks"]["second"]["seconds"] != first["tasks"]["second"]["seconds"]
    assert anew["tasks"]["second"]["value"] == first["tasks"]["second"]["value"]
    for name, tensor in weights.items():
        assert torch.equal(tensor, same_weights[name])
        assert torch.equal(tensor, found_again[name])
    assert not list((calibrating.folder / "checkpoints").glob("*"))


def test_slack_and_limits_are_applied_afterwards(calibrating: Calibrating) -> None:
    value = calibrating()[0]["tasks"]["second"]["value"]
    assert calibrating(SHORT.model_copy(update={"slack": 0.5}))[0]["threshold"] == value * 1.5
    assert calibrating(SHORT.model_copy(update={"threshold": 0.25}))[0]["threshold"] == 0.25
    assert calibrating(SHORT.model_copy(update={"threshold": {"second": 0.5}}))[0]["threshold"] == 0.5
    assert len(calibrating.files()) == 1
    with pytest.raises(
        ConfigurationError, match=r"'calibration.threshold' names 'third'; the tasks that keep a limit are second"
    ):
        calibrating(SHORT.model_copy(update={"threshold": {"third": 0.5}}))


def test_anything_that_changes_the_numbers_is_calibrated_anew(calibrating: Calibrating) -> None:
    calibrating()
    calibrating(SHORT.model_copy(update={"max_steps": 9}))
    calibrating(SHORT.model_copy(update={"tolerance": 1e-5}))
    calibrating(model=ModelParameters(hidden=7))
    calibrating(fingerprint={**FINGERPRINT, "split_sha256": "t"})
    calibrating(seed=1)
    calibrating(dtype="float32")
    assert len(calibrating.files()) == 7
    torch.set_num_threads(2)
    calibrating()
    assert len(calibrating.files()) == 8


@pytest.mark.parametrize("damage", ["cut", "flipped bit", "no metadata"])
def test_a_damaged_file_is_made_again(calibrating: Calibrating, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    first, weights, _ = calibrating()
    (file,) = calibrating.files()
    content = bytearray(file.read_bytes())
    if damage == "flipped bit":
        content[-3] ^= 1
    elif damage == "cut":
        del content[-100:]
    else:
        content = bytearray((2).to_bytes(8, "little") + b"{}")
    file.write_bytes(content)
    again, found_again, _ = calibrating()
    assert f"{file} is damaged" in caplog.text
    assert again["threshold"] == first["threshold"]
    assert all(torch.equal(weights[name], found_again[name]) for name in weights)
    assert calibrating()[0] == again  # and is good again


def test_it_reports_value_steps_residual_and_threshold(
    calibrating: Calibrating, caplog: pytest.LogCaptureFixture
) -> None:
    record = calibrating()[0]["tasks"]["second"]
    assert record["threshold"] == record["value"] * 1.1
    assert json.loads(json.dumps(record)) == record
    assert (
        f"reaches a worst-case loss of {record['value']:.4f}, so its threshold is {record['threshold']:.4f}: "
        f"MAX_STEPS after 8 steps, residual {record['stationarity']:.1e}, {record['seconds']:.1f} s"
    ) in caplog.text


def test_several_tasks_find_all_their_parts(tmp_path: Path) -> None:
    calibrating = Calibrating(tmp_path, small_tasks(3))
    first = calibrating()
    again = calibrating()
    assert again[0] == first[0]
    assert all(torch.equal(first[1][name], again[1][name]) for name in first[1])
    assert len(calibrating.files()) == 3  # each task alone, and both together


def test_the_weights_of_each_task_alone_are_those_that_its_value_was_measured_with(tmp_path: Path) -> None:
    calibrating = Calibrating(tmp_path, small_tasks(3))
    record, weights, single = calibrating()
    experiment = Experiment(MODEL, PROBLEM, COMPUTE, seed=0, fingerprint=FINGERPRINT)
    built = experiment.build(calibrating.data, "first", {})
    for task in ("second", "third"):
        alone = weights_alone(single, task)
        quality = built.quality(alone, calibrating.data, criteria_of(PROBLEM))
        assert quality[task].worst_case_loss == record["tasks"][task]["value"]
        assert list(alone) == list(weights)
    assert len(single) == 2 * len(weights)
    kept = calibrating()[2]  # from the cache
    assert all(torch.equal(single[name], kept[name]) for name in single)


def test_a_task_whose_name_begins_like_another_one_has_weights_of_its_own() -> None:
    tensors = {"a/w": torch.zeros(1), "a/b/w": torch.ones(1), "ab/w": torch.full((1,), 2.0)}
    assert weights_alone(tensors, "ab") == {"w": tensors["ab/w"]}
    assert set(weights_alone(tensors, "a")) == {"w", "b/w"}
