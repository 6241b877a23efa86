"""``kedro run`` as a user starts it, in a process of its own: what it prints, leaves behind and tracks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from safetensors.torch import load_file

from tests.conftest import copy_project

# One worker for all of them: they look at what one run left.
pytestmark = [pytest.mark.xdist_group("run"), pytest.mark.slow]

SHORT = "calibration.max_steps=20,training.max_steps=20,problem.weight_decay=0.001"
TRACKED = ("objective", "constraint", "stationarity", "infeasibility", "slackness", "multiplier")

# Put before every run: a connection to anywhere is written down and refused.
NO_NETWORK = """
import os, socket

def refuse(self, address, *rest):
    with open(os.environ["CONNECTIONS"], "a") as log:
        print(address, file=log)
    raise ConnectionRefusedError(address)

socket.socket.connect = refuse
socket.socket.connect_ex = refuse
"""


class Finished(NamedTuple):
    project: Path
    output: str
    connections: str


def _environment(project: Path) -> dict[str, str]:
    """What a user's shell has: nothing that this test suite sets for itself."""
    guard = project / "guard"
    guard.mkdir(exist_ok=True)
    (guard / "sitecustomize.py").write_text(NO_NETWORK)
    unset = ("DO_NOT_TRACK", "MLFLOW_TRACKING_URI", "IDBPD_EXECUTION")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    return environment | {
        "PYTHONPATH": f"{guard}{os.pathsep}{project / 'src'}",
        "CONNECTIONS": str(project / "connections.txt"),
    }


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kedro", "run", *arguments]


def _run(project: Path, *arguments: str) -> Finished:
    done = subprocess.run(
        _command(*arguments),
        cwd=project / "src" / "idbpd",  # any folder of the project will do
        env=_environment(project),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    log = project / "connections.txt"
    return Finished(project, done.stdout, log.read_text() if log.exists() else "")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return _run(copy_project(tmp_path_factory.mktemp("run") / "project"), "--params", SHORT)


def _runs(project: Path) -> tuple[MlflowClient, list[Run]]:
    client = MlflowClient(f"sqlite:///{project / 'data/09_tracking/mlflow.db'}")
    experiment = client.get_experiment_by_name("idbpd")
    assert experiment is not None
    return client, client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])


def test_it_says_what_came_out_and_where_to_look(finished: Finished) -> None:
    for text in (
        "priority: worst-case loss",
        "constraint: worst-case loss",
        "constraint: the same, test",
        "constraint: holds on unseen data",
        "equal weights",
        " kept",
        "stationarity",
        "infeasibility",
        "slackness",
        "priority: hit rate, test",
        "constraint: hit rate, test",
        "MAX_STEPS",
        "weights.safetensors",
        "kkt_curves.png",
        "ui --backend-store-uri sqlite:///",
    ):
        assert text in finished.output
    assert "\x1b" not in finished.output  # no colours and no progress bar away from a terminal


def test_it_connects_to_nowhere(finished: Finished) -> None:
    assert finished.connections == ""


def test_results_are_complete_and_nothing_partial_is_left(finished: Finished) -> None:
    data = finished.project / "data"
    certificate = json.loads((data / "08_reporting/multi_digits/certificate.json").read_text())
    assert set(TRACKED) < set(certificate)
    assert certificate["infeasibility"] == pytest.approx(max(certificate["constraint"], 0))
    assert certificate["slackness"] == pytest.approx(abs(certificate["multiplier"] * certificate["constraint"]))
    history = pd.read_parquet(data / "07_model_output/multi_digits/history.parquet")
    assert list(history["step"]) == list(range(len(history)))
    assert {"trunk.weight", "heads.task.0.weight", "heads.task.1.weight"} < set(
        load_file(data / "06_models/multi_digits/weights.safetensors")
    )
    assert not list(finished.project.rglob(".partial*"))
    assert not (finished.project / "src/idbpd/mlruns").exists()


def test_the_run_is_tracked_as_other_programs_read_it(finished: Finished) -> None:
    client, runs = _runs(finished.project)
    parent, child = runs
    assert [run.info.status for run in runs] == ["FINISHED", "FINISHED"]
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert {name: child.data.tags[name] for name in ("dataset", "method", "seed")} == {
        "dataset": "multi_digits",
        "method": "idbpd",
        "seed": "0",
    }
    assert parent.data.params["problem.lambda"] == "0.1"
    certificate = json.loads((finished.project / "data/08_reporting/multi_digits/certificate.json").read_text())
    assert float(child.data.params["threshold"]) == certificate["threshold"]
    history = pd.read_parquet(finished.project / "data/07_model_output/multi_digits/history.parquet")
    for name in TRACKED:
        assert child.data.metrics[f"final_{name}"] == certificate[name]
        points = client.get_metric_history(child.info.run_id, name)
        assert {point.step: point.value for point in points} == dict(zip(history["step"], history[name], strict=True))
    assert 0 < child.data.metrics["test_priority_hit_rate"] <= 1
    artifacts = {artifact.path for artifact in client.list_artifacts(child.info.run_id)}
    assert {"kkt_curves.png", "certificate.json", "weights.safetensors"} <= artifacts
    assert client.search_logged_models([child.info.experiment_id])[0].source_run_id == child.info.run_id


def test_the_same_seed_gives_the_same_numbers_to_the_last_digit(finished: Finished) -> None:
    reports = finished.project / "data/08_reporting/multi_digits"
    files = [reports / "certificate.json", reports / "quality.json"]
    first = [file.read_text() for file in files]
    _run(finished.project, "--params", SHORT)
    assert [file.read_text() for file in files] == first


def test_it_runs_as_a_package_too(finished: Finished) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "idbpd", "--conf-source", "conf", "--pipeline", "ingestion"],
        cwd=finished.project,
        env=_environment(finished.project),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("4000 samples, 100 features, 10 labels")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 1)], ids=["terminated", "Ctrl-C"]
)
def test_a_stopped_run_is_tracked_as_killed(project: Path, number: signal.Signals, code: int) -> None:
    endless = "calibration.max_steps=1000000,calibration.tolerance=1e-30,problem.weight_decay=0.001"
    process = subprocess.Popen(
        _command("--params", endless), cwd=project, env=_environment(project), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("constraint task"):  # the split is done, calibration begins
                break
        time.sleep(0.5)
        process.send_signal(number)
        assert process.wait(timeout=60) == code
    _, runs = _runs(project)
    assert {run.info.status for run in runs} == {"KILLED"}
    assert not list(project.rglob(".partial*"))
