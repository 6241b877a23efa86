"""A training run that is killed, interrupted or short of disk loses nothing and never resumes from a wrong state."""

import logging
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pandas as pd
import pytest
import torch
from torch import Tensor

from idbpd.errors import ConfigurationError
from idbpd.experiment.limits.calibration import calibrate
from idbpd.experiment.parameters import CheckpointParameters, ProblemParameters, TrainingParameters
from idbpd.experiment.solving.checkpoints import ABANDONED_KEPT, CheckpointFolder, Checkpointing
from idbpd.mtl import MultiTaskData
from idbpd.optim import load_noted_state, load_state
from idbpd.pipelines.training.nodes import train_constrained
from tests.pipelines.small_tasks import CALIBRATION, EXPERIMENT, FINGERPRINT, PROBLEM, TRAINING, small_tasks

OFTEN = CheckpointParameters(every_steps=3)
# A tolerance below what is reached in float64, so that all steps are done.
SHORT = TRAINING.model_copy(update={"max_steps": 12, "tolerance": 1e-12})
LONG = SHORT.model_copy(update={"max_steps": 120})  # enough to be killed in the middle


class Trained(NamedTuple):
    weights: dict[str, Tensor]
    history: pd.DataFrame
    clock: pd.DataFrame
    outcome: dict[str, Any]


class Training:
    """A problem that is ready to be trained on, with a folder for checkpoints."""

    def __init__(self, folder: Path, training: TrainingParameters = SHORT) -> None:
        self.folder = folder
        self.training = training
        self.data: MultiTaskData = small_tasks(2)

    def __call__(
        self,
        checkpoint: CheckpointParameters = OFTEN,
        training: TrainingParameters | None = None,
        problem: ProblemParameters = PROBLEM,
        fingerprint: dict[str, str] = FINGERPRINT,
        folder: Path | None = None,
    ) -> Trained:
        experiment = replace(EXPERIMENT, problem=problem, fingerprint=fingerprint)
        threshold, start, _ = calibrate(self.data, CALIBRATION, experiment)
        checkpointing = Checkpointing(checkpoint, CheckpointFolder(folder or self.folder))
        return Trained(
            *train_constrained(self.data, threshold, start, training or self.training, experiment, checkpointing)
        )

    def alone(self) -> Trained:
        """The same in a folder of its own, undisturbed."""
        return self(folder=self.folder / "undisturbed")

    def interrupt(self) -> None:
        """Train until the middle of it, where an alarm interrupts as Ctrl-C does."""

        def stop(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        class Alarm(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)  # of the process' own time: steps, however busy it is

        before = signal.signal(signal.SIGVTALRM, stop)
        calibration = logging.getLogger("idbpd.experiment.limits.calibration")
        handler = Alarm()  # calibration's last word: training begins
        calibration.addHandler(handler)
        calibration.setLevel(logging.INFO)
        try:
            with pytest.raises(KeyboardInterrupt):
                self(training=SHORT.model_copy(update={"max_steps": 100_000}))
        finally:
            calibration.removeHandler(handler)
            signal.signal(signal.SIGVTALRM, before)

    def states(self) -> list[Path]:
        return sorted(self.folder.glob("*.state"))


@pytest.fixture
def training(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Training:
    caplog.set_level(logging.INFO)
    return Training(tmp_path / "checkpoints")


@pytest.fixture
def long_training(training: Training) -> Training:
    return Training(training.folder, LONG)


def assert_same(one: Trained, other: Trained) -> None:
    assert list(one.weights) == list(other.weights)
    assert all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)
    pd.testing.assert_frame_equal(one.history, other.history, check_exact=True)
    assert {**one.outcome, "seconds": 0} == {**other.outcome, "seconds": 0}


def _in_a_child(work: Any) -> int:
    """Begin ``work`` in a process of its own, without waiting for it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def test_a_run_killed_at_any_moment_ends_with_the_same_bits(long_training: Training) -> None:
    training = long_training
    expected = training.alone()
    kills = 0
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.13, 0.21, 0.04, 0.01, 0.06, 0.02):
        seen = {path: path.stat().st_mtime_ns for path in training.states()}
        child = _in_a_child(training)
        while not [path for path in training.states() if path.stat().st_mtime_ns != seen.get(path)]:
            if os.waitpid(child, os.WNOHANG) != (0, 0):
                break  # it came to its end
            time.sleep(0.001)
        else:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
            kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        if list(training.folder.glob("*.finished")):
            break
    assert kills >= 3
    assert_same(training(), expected)
    assert not training.states()
    assert not list(training.folder.glob(".partial*"))


def test_a_stage_that_is_over_is_not_run_again(training: Training, caplog: pytest.LogCaptureFixture) -> None:
    first = training()
    again = training()
    assert "train_constrained is done: step 12 after" in caplog.text
    assert again.outcome == first.outcome  # to the seconds: they are those of the first run
    assert_same(first, again)
    anew = training(CheckpointParameters(resume="never"))
    assert anew.outcome["seconds"] != first.outcome["seconds"]
    assert_same(first, anew)


def test_an_interrupted_run_leaves_its_last_step(training: Training, caplog: pytest.LogCaptureFixture) -> None:
    training.interrupt()
    (state,) = training.states()
    run = load_state(state)
    assert run.step > 0
    assert run.history.step.tolist() == list(range(run.step + 1))


def test_a_state_of_other_data_or_parameters_is_refused(training: Training, caplog: pytest.LogCaptureFixture) -> None:
    training.interrupt()
    (state,) = training.states()
    content = state.read_bytes()
    other = PROBLEM.model_copy(update={"regularisation": 0.7})
    training(problem=other)
    (warning,) = [record.getMessage() for record in caplog.records if "is refused" in record.getMessage()]
    assert warning.startswith(f"train_constrained begins anew: the checkpoint {state} is refused, it was made with ")
    assert "problem.lambda = 1.0, this run has 0.7; " in warning
    caplog.clear()
    training(fingerprint={**FINGERPRINT, "split_sha256": "t"})
    assert "it was made with data and split (SHA-256) = 's', this run has 't'; training.max_steps = " in caplog.text
    assert state.read_bytes() == content  # whoever comes back to the first problem finds it


def test_a_state_under_a_wrong_name_is_refused(training: Training) -> None:
    training()
    (finished,) = training.folder.glob("*.finished")
    training.interrupt()
    (state,) = training.states()
    finished.unlink()
    state.rename(finished.with_suffix(".state"))
    with pytest.raises(
        ConfigurationError,
        match=r"was made with training.max_steps = 100000, this run has 12; "
        r"delete the file, or run with checkpoint.resume=never",
    ):
        training()
    assert_same(training(CheckpointParameters(resume="never")), training.alone())


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped bit", "text"])
def test_a_damaged_state_is_named_and_not_used(
    training: Training, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = training()
    (finished,) = training.folder.glob("*.finished")
    content = bytearray(finished.read_bytes())
    content[len(content) // 2] ^= 1
    damaged: dict[str, bytes | bytearray] = {
        "cut": content[: len(content) // 2],
        "empty": b"",
        "flipped bit": content,
        "text": b"hello\n",
    }
    finished.write_bytes(damaged[damage])
    caplog.clear()
    again = training()
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.startswith(f"{finished} is ")
    assert warning.endswith("; it is not used")
    assert again.outcome["seconds"] != expected.outcome["seconds"]
    assert_same(again, expected)


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    """As on a disk with so much space left: a write beyond it fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_does_not_end_the_run(training: Training, caplog: pytest.LogCaptureFixture) -> None:
    expected = training.alone()
    with _largest_file(4096):
        without_room = training()
    assert_same(without_room, expected)
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "the checkpoint of step 3 could not be written to " in warning
    assert warning.endswith("File too large; the run goes on, there is none yet")
    assert [path.name for path in training.folder.iterdir()] == ["undisturbed"]


def test_the_last_good_state_outlives_a_disk_that_fills_up(
    long_training: Training, caplog: pytest.LogCaptureFixture
) -> None:
    training = long_training
    expected = training.alone()
    (largest,) = (training.folder / "undisturbed").glob("*.finished")
    with _largest_file(
        largest.stat().st_size // 2
    ):  # room for the states of the first steps, whose metric is still small
        trained = training()
    assert_same(trained, expected)
    assert "; the run goes on, the one of step " in caplog.text
    (kept,) = training.states()
    state, note = load_noted_state(kept)
    assert 0 < state.step < LONG.max_steps
    caplog.clear()
    again = training()
    assert_same(again, expected)
    assert f"train_constrained goes on: step {state.step} after" in caplog.text
    # The seconds of both sessions add up.
    (finished,) = training.folder.glob("*.finished")
    seconds = load_noted_state(finished)[1]["seconds"]
    assert seconds[: state.step + 1] == note["seconds"]
    assert seconds == sorted(seconds)
    assert again.outcome["seconds"] == seconds[-1]


def test_states_that_nobody_takes_up_are_bounded(training: Training) -> None:
    training.folder.mkdir(parents=True)
    for at in range(6):
        path = training.folder / f"train_constrained-{at:016x}.state"
        path.write_text("of long ago")
        os.utime(path, (1e9 + at, 1e9 + at) if at < 2 else (time.time() - at, time.time() - at))
    of_another_stage = training.folder / f"train_constrained-b-{7:016x}.state"
    of_another_stage.write_text("of long ago")
    training()
    assert of_another_stage.exists()
    of_another_stage.unlink()
    names = [path.name for path in training.states()]
    assert names == [f"train_constrained-{at:016x}.state" for at in (2, 3, 4)]
    assert len(names) == ABANDONED_KEPT


def test_finished_states_of_runs_that_failed_later_are_bounded(training: Training) -> None:
    training.folder.mkdir(parents=True)
    for at in range(6):
        (training.folder / f"train_constrained-{at:016x}.finished").write_text("of a night whose evaluation failed")
    training()
    assert len(list(training.folder.glob("*.finished"))) == ABANDONED_KEPT + 1  # and that of this run


def test_after_success_only_states_of_other_runs_stay(training: Training) -> None:
    folder = CheckpointFolder(training.folder)
    folder.run_succeeded()  # nothing was written: there is nothing to remove
    training()
    other = training.folder / f"train_constrained-{1:016x}.state"
    other.touch()
    folder.run_succeeded()
    assert list(training.folder.iterdir()) == [other]
    other.rename(other.with_suffix(".finished"))
    folder.run_succeeded()
    assert not training.folder.exists()
