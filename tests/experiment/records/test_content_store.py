"""Results are kept by what they were made with, and nothing that is not whole is taken for one."""

import os
import resource
from pathlib import Path

import pytest
import torch

from idbpd.experiment.records.content_store import ContentStore, content_key, forget_oldest

MADE_WITH = {"seed": 0, "problem.lambda": 0.1}
RECORD = {"status": "CONVERGED", "seconds": 1.5}
TENSORS = {"z": torch.arange(3.0), "a": torch.eye(2, dtype=torch.float64)}


@pytest.fixture
def store(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "store", "calibration", kept=3)


def _file(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "store").iterdir()
    return file


def test_what_was_put_is_what_is_got(store: ContentStore) -> None:
    assert store.get(MADE_WITH) is None
    store.put(MADE_WITH, RECORD, TENSORS)
    found = store.get(MADE_WITH)
    assert found is not None
    assert found.record == RECORD
    assert list(found.tensors) == ["z", "a"]  # in the order in which they were given
    assert all(torch.equal(found.tensors[name], tensor) for name, tensor in TENSORS.items())
    assert store.keys() == {content_key(MADE_WITH)}


def test_other_settings_have_another_result(store: ContentStore) -> None:
    store.put(MADE_WITH, RECORD, {})
    assert store.get({**MADE_WITH, "seed": 1}) is None
    assert store.get(dict(reversed(MADE_WITH.items()))) is not None  # the same in another order


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped bit", "other record", "no metadata"])
def test_a_damaged_file_is_named_and_not_used(
    store: ContentStore, damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(MADE_WITH, RECORD, TENSORS)
    file = _file(tmp_path)
    content = file.read_bytes()
    damaged = {
        "cut": content[:-5],
        "empty": b"",
        "flipped bit": content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        "other record": content.replace(b"CONVERGED", b"MAX_STEPS"),
        "no metadata": (2).to_bytes(8, "little") + b"{}",
    }
    file.write_bytes(damaged[damage])
    assert store.get(MADE_WITH) is None
    assert f"{file} is damaged" in caplog.text
    assert caplog.messages[0].endswith("computing the calibration again")
    store.put(MADE_WITH, RECORD, TENSORS)
    assert store.get(MADE_WITH) is not None


def test_a_full_disk_is_a_warning(store: ContentStore, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        store.put(MADE_WITH, RECORD, TENSORS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caplog.messages[0].startswith(f"the calibration could not be kept in {tmp_path / 'store'}")
    assert store.keys() == set()
    assert list((tmp_path / "store").iterdir()) == []


def test_the_least_recently_used_goes_first(store: ContentStore, tmp_path: Path) -> None:
    for seed in range(3):
        store.put({"seed": seed}, RECORD, {})
        os.utime(tmp_path / "store" / f"{content_key({'seed': seed})}.safetensors", (seed, seed))
    assert store.get({"seed": 0}) is not None  # used now
    store.put({"seed": 3}, RECORD, {})
    assert store.keys() == {content_key({"seed": seed}) for seed in (0, 2, 3)}


def test_without_a_number_all_are_kept(tmp_path: Path) -> None:
    store = ContentStore(tmp_path, "benchmark result")
    for seed in range(20):
        store.put({"seed": seed}, RECORD, {})
    assert len(store.keys()) == 20


def test_files_that_were_not_used_for_long_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for file in (old, new):
        file.touch()
    os.utime(old, (1e9, 1e9))
    forget_oldest([old, new], kept=5, days=7)
    assert list(tmp_path.iterdir()) == [new]


def test_a_renamed_file_is_not_taken_for_another_result(
    store: ContentStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store.put({"seed": 1}, RECORD, TENSORS)
    _file(tmp_path).rename(tmp_path / "store" / f"{content_key(MADE_WITH)}.safetensors")
    assert store.get(MADE_WITH) is None
    assert "it was made with other settings than its name says" in caplog.text


def test_a_file_that_vanishes_meanwhile_does_no_harm(tmp_path: Path) -> None:
    forget_oldest([tmp_path / "gone", tmp_path / "gone too"], kept=0, days=1)
