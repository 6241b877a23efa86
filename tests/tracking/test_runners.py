"""Each of Kedro's runners logs to the right run, and a run that is stopped says so whatever its runner."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

SHORT = "calibration.max_steps=10,training.max_steps=10,model.hidden=4"
ENDLESS = "calibration.max_steps=1000000,calibration.tolerance=1e-30,model.hidden=4"


@pytest.fixture
def small_project(project: Path) -> Path:
    (project / "conf/local/sources.yml").write_text("multi_digits:\n  pairs: 200\n")
    return project


def _environment(project: Path) -> dict[str, str]:
    unset = ("MLFLOW_TRACKING_URI", "IDBPD_EXECUTION")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    return {**environment, "PYTHONPATH": str(project / "src"), "DO_NOT_TRACK": "true"}


def _runs(project: Path) -> tuple[MlflowClient, list[Run]]:
    client = MlflowClient(f"sqlite:///{project / 'data/09_tracking/mlflow.db'}")
    experiment = client.get_experiment_by_name("idbpd")
    assert experiment is not None
    return client, list(client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"]))


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["ThreadRunner", "ParallelRunner"])
def test_workers_log_to_the_run_of_their_execution(small_project: Path, runner: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kedro", "run", "--runner=ParallelRunner", "--params", SHORT],
        cwd=small_project,
        env=_environment(small_project),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    client, (parent, child) = _runs(small_project)
    assert (parent.info.status, child.info.status) == ("FINISHED", "FINISHED")
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    history = pd.read_parquet(small_project / "data/07_model_output/multi_digits/history.parquet")
    points = client.get_metric_history(child.info.run_id, "objective")
    assert {point.step: point.value for point in points} == dict(
        zip(history["step"], history["objective"], strict=True)
    )
    artifacts = {artifact.path for artifact in client.list_artifacts(child.info.run_id)}
    assert {"certificate.json", "history.parquet", "kkt_curves.png", "report.html", "weights.safetensors"} <= artifacts
    assert child.inputs is not None
    assert {data.dataset.name for data in child.inputs.dataset_inputs} == {"multi_digits train", "multi_digits test"}
    assert not (small_project / "data/09_tracking/outbox").exists()


@pytest.mark.slow
def test_a_stopped_run_ends_at_once_and_as_killed(small_project: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "kedro", "run", "--runner=ParallelRunner", "--params", ENDLESS],
        cwd=small_project,
        env=_environment(small_project),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("constraint task"):  # the split is done, calibration begins
                break
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 128 + signal.SIGINT
    _, runs = _runs(small_project)
    assert {run.info.status for run in runs} == {"KILLED"}
