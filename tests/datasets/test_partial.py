"""What a killed process left is removed; what a living one, or another machine, writes is not."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from idbpd.datasets import partial
from idbpd.datasets.partial import partial_path, remove_abandoned, remove_abandoned_temporary_folders

# Begins a file, a folder and a checkpoint, says so, and waits.
WRITER = """
import sys
from pathlib import Path
from idbpd.datasets.partial import replacing
from idbpd.datasets.partial import partial_path, temporary_folder

folder = Path(sys.argv[1])
partial_path(folder / "model").mkdir()
(partial_path(folder / "model") / "weights").write_text("half")
with temporary_folder(), replacing(folder / "result.json") as path:
    path.write_text("half")
    (folder / f".partial-{path.name}-x1y2").write_text("as the solver writes a state")
    print("begun", flush=True)
    sys.stdin.read()
"""


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_living_process_keeps_its_files_and_a_dead_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, temporary = tmp_path / "results", tmp_path / "temporary"
    results.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    (results / "result.json").write_text("an older one")
    (results / ".hidden").write_text("mine")
    (temporary / "idbpd-model-kept").mkdir()  # a verified model that somebody serves
    command = [sys.executable, "-c", WRITER, str(results)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        begun = _names(results)
        remove_abandoned(results)
        remove_abandoned_temporary_folders()
        assert _names(results) == begun
        assert len(begun) == 5
        assert len(_names(temporary)) == 2
        process.send_signal(signal.SIGKILL)
    remove_abandoned(results)
    remove_abandoned_temporary_folders()
    assert _names(results) == [".hidden", "result.json"]
    assert _names(temporary) == ["idbpd-model-kept"]


def test_another_machine_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "machine", lambda: "0123abcd")
    monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)  # larger than the number of any process
    there = partial_path(tmp_path / "a")
    there.write_text("half")
    monkeypatch.undo()
    remove_abandoned(tmp_path)
    assert there.exists()
    monkeypatch.setattr(partial, "machine", lambda: "0123abcd")
    remove_abandoned(tmp_path)
    assert not there.exists()


def test_a_number_that_was_given_again_is_not_the_process_that_wrote(tmp_path: Path) -> None:
    """In a container, a run often has the same number as the one before."""
    before, now = partial_path(tmp_path / "a"), partial_path(tmp_path / "b")
    for path in (before, now):
        path.write_text("half")
    os.utime(before, (1_700_000_000, 1_700_000_000))
    remove_abandoned(tmp_path)
    assert _names(tmp_path) == [now.name]


def test_a_name_without_a_machine_must_be_a_day_old(tmp_path: Path) -> None:
    names = [f".partial-{2**22 + 1}-a", f".partial-{2**22 + 1}-b", ".partial-of-somebody-else"]
    for name in names:
        (tmp_path / name).touch()
    for name in names[1:]:
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    remove_abandoned(tmp_path)
    assert _names(tmp_path) == sorted([names[0], names[2]])
