"""Nothing that was tracked is lost, and nothing arrives twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
from mlflow import MlflowClient
from mlflow.entities import Run

from idbpd.mtl import MultiTaskData, Task
from idbpd.tracking import TrackedInputDataset, TrackedModelDataset
from idbpd.tracking.delivery import send
from idbpd.tracking.journal import Journal
from idbpd.tracking.leftovers import send_leftovers
from idbpd.tracking.logging import history, tags
from idbpd.tracking.runs import child_run, parent_of, track
from idbpd.tracking.store import URI_VARIABLE, Store
from tests.tracking.conftest import RUN, begin
from tests.tracking.exported import model_of_numbers
from tests.tracking.server import free_port

HISTORY = pd.DataFrame({"step": range(1500), "objective": 1.0 / (1.0 + pd.RangeIndex(1500))})


def _track_everything(folder: Path) -> None:
    """One entry of every kind."""
    track(RUN, *history(HISTORY))
    track(RUN, *tags({"status": "CONVERGED"}))
    file = folder / "certificate.json"
    file.write_text("{}")
    track(RUN, "artifact", {"file": file.name}, [file])
    model = model_of_numbers(("a", "b"), {"x": ("0", "1"), "y": ("2", "3")})
    TrackedModelDataset(filepath=str(folder / "model"), run=RUN).save(model)
    train = folder / "train.safetensors"
    data = TrackedInputDataset(
        dataset={"type": "idbpd.datasets.MultiTaskDataset", "filepath": str(train)}, run=RUN, context="training"
    )
    data.save(MultiTaskData(torch.zeros(3, 2), (Task("x", ("0",), torch.arange(3), torch.ones(3, 1)),)))
    data.load()


def _runs(client: MlflowClient) -> list[Run]:
    experiment = client.get_experiment_by_name("test")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def _assert_all_there_once(client: MlflowClient, status: str) -> Run:
    runs = _runs(client)
    assert [run.info.status for run in runs] == [status, status]
    (child,) = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    points = client.get_metric_history(child.info.run_id, "objective")
    assert [point.step for point in points] == list(HISTORY["step"])
    assert [point.value for point in points] == list(HISTORY["objective"])
    assert child.data.tags["status"] == "CONVERGED"
    assert [artifact.path for artifact in client.list_artifacts(child.info.run_id)] == ["certificate.json"]
    (model,) = client.search_logged_models([child.info.experiment_id])
    assert (model.source_run_id, str(model.status)) == (child.info.run_id, "READY")
    assert child.data.tags["model_uri"] == f"models:/{model.model_id}"
    assert child.outputs is not None
    assert child.inputs is not None
    assert [output.model_id for output in child.outputs.model_outputs] == [model.model_id]
    (data,) = child.inputs.dataset_inputs
    assert data.dataset.name == "yeast train"
    assert json.loads(data.dataset.profile or "")["rows"] == 3
    labels = {tag.key: tag.value for tag in data.tags}
    assert labels["mlflow.data.context"] == "training"
    assert labels["sha256"].startswith(data.dataset.digest)
    return child


def _end(journal: Journal) -> None:
    journal.end(parent_of(journal), "FINISHED")


def test_an_entry_sent_again_is_stored_once(journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a process dies after the store took an entry and before the journal forgot it."""
    store = os.environ[URI_VARIABLE]
    monkeypatch.setenv(URI_VARIABLE, f"http://127.0.0.1:{free_port()}")  # nobody is there
    _track_everything(tmp_path)
    _end(journal)
    monkeypatch.setenv(URI_VARIABLE, store)
    kept = tmp_path / "kept"
    shutil.copytree(journal.folder, kept)
    assert send(journal, now=True)
    _assert_all_there_once(MlflowClient(), "FINISHED")
    again = Journal(shutil.copytree(kept, tmp_path / "elsewhere" / journal.folder.name))  # knows of no run
    assert again.runs == {}
    assert send(again, now=True)
    _assert_all_there_once(MlflowClient(), "FINISHED")


def test_an_execution_of_a_killed_process_ends_as_killed(store: Store, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    code = (
        "import os, sys; from pathlib import Path; from tests.tracking.conftest import begin, RUN\n"
        "from idbpd.tracking.runs import EXECUTION_VARIABLE, track\n"
        f"journal = begin(Path({str(outbox)!r}), {store.uri!r}, artifacts={store.artifacts!r})\n"
        "os.environ[EXECUTION_VARIABLE] = str(journal.folder)\n"
        "track(RUN, 'tags', {'begun': 'yes'})\n"
        "print('begun', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        assert send_leftovers(outbox, store.uri) == []
        client = MlflowClient()
        assert [run.info.status for run in _runs(client)] == ["RUNNING", "RUNNING"]  # it goes on: left alone
        process.send_signal(signal.SIGKILL)
    assert send_leftovers(outbox, store.uri) == []
    assert [run.info.status for run in _runs(client)] == ["KILLED", "KILLED"]
    assert not outbox.exists()


def test_an_entry_that_the_store_refuses_is_kept_and_the_rest_arrives(journal: Journal) -> None:
    track(RUN, "params", {"threshold": "1"})
    track(RUN, "params", {"threshold": "2"})  # a parameter is written once
    track(RUN, "tags", {"status": "CONVERGED"})
    run_id = child_run(RUN)
    assert run_id is not None
    run = MlflowClient().get_run(run_id)
    assert (run.data.params["threshold"], run.data.tags["status"]) == ("1", "CONVERGED")
    (rejected,) = (journal.folder / "rejected").iterdir()
    assert json.loads((rejected / "entry.json").read_text())["content"] == {"threshold": "2"}
    assert "threshold" in (rejected / "reason.txt").read_text()
    journal.end(parent_of(journal), "FINISHED")
    send(journal)
    journal.close()
    assert send_leftovers(journal.folder.parent, os.environ[URI_VARIABLE]) == []  # no reason to call it killed
    assert MlflowClient().get_run(run_id).info.status == "FINISHED"
    assert rejected.exists()


def test_a_half_written_entry_is_ignored(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        journal.append(parent_of(journal), "artifact", {"file": "gone"}, [tmp_path / "gone"])
    assert list(journal.entries()) == []


def test_a_secret_is_removed_but_a_file_with_its_name_arrives(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "certificate")
    file = tmp_path / "certificate.json"
    file.write_text("{}")
    track({**RUN, "note": "the certificate"}, "artifact", {"file": file.name}, [file])
    track({**RUN, "note": "the certificate"}, "tags", {"said": "the certificate"})
    client = MlflowClient()
    (run,) = [run for run in _runs(client) if "mlflow.parentRunId" in run.data.tags]
    assert (run.data.tags["note"], run.data.tags["said"]) == ("the ***", "the ***")
    assert [artifact.path for artifact in client.list_artifacts(run.info.run_id)] == ["certificate.json"]


def test_leftovers_for_another_store_are_left(store: Store, tmp_path: Path) -> None:
    other = begin(tmp_path / "outbox", "http://tracking.example")
    other.append(parent_of(other), "open", {})
    other.close()
    assert send_leftovers(tmp_path / "outbox", store.uri) == []
    assert len(list(other.entries())) == 1


BEGUN = """
import os, sys
from pathlib import Path
from idbpd.tracking import journal
from tests.tracking.conftest import begin

def killed(path, content):
    os.kill(os.getpid(), 9)

journal.write_json = killed
begin(Path(sys.argv[1]), "sqlite:///nowhere.db")
"""


def test_a_journal_is_begun_whole_or_removed(tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    killed = subprocess.run([sys.executable, "-W", "ignore", "-c", BEGUN, str(outbox)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(outbox.iterdir())) == 1
    half = outbox / "20260101T000000-b"  # as an earlier version left it
    half.mkdir()
    (half / "alive").touch()
    alive = begin(outbox, "sqlite:///nowhere.db", "20260101T000000-c")
    assert send_leftovers(outbox, "sqlite:///elsewhere.db") == []
    assert list(outbox.iterdir()) == [alive.folder]
    alive.close()
    assert not outbox.exists()


def test_the_journal_of_another_machine_is_left_alone_for_some_hours(store: Store, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    other = begin(outbox, store.uri, artifacts=store.artifacts)
    header = other.folder / "execution.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "machine": "another"}))
    other.release()  # as where the lock of another machine is not seen
    assert send_leftovers(outbox, store.uri) == []
    assert other.folder.exists()
    long_ago = 1_700_000_000
    os.utime(other.folder, (long_ago, long_ago))
    assert send_leftovers(outbox, store.uri) == []
    assert not outbox.exists()
    assert [run.info.status for run in _runs(MlflowClient())] == ["KILLED"]
