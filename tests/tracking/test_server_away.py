"""A run whose tracking server goes away: it goes on, and what it had to say arrives later."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from tests.tracking.server import Server

SHORT = "calibration.max_steps=10,training.max_steps=10,model.hidden=4,problem.weight_decay=0.001"


@pytest.fixture
def small_project(project: Path) -> Path:
    (project / "conf/local/sources.yml").write_text("multi_digits:\n  pairs: 200\n")
    return project


def _environment(project: Path, uri: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(project / "src"), "MLFLOW_TRACKING_URI": uri, "DO_NOT_TRACK": "true"}


def _kedro(project: Path, uri: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kedro", *arguments],
        cwd=project,
        env=_environment(project, uri),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_server_that_goes_away_in_the_middle_gets_the_rest_later(small_project: Path, tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    server.start()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "kedro", "run", "--params", SHORT],
            cwd=small_project,
            env=_environment(small_project, server.uri),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        output = ""
        with process.stdout:
            for line in process.stdout:
                output += line
                if line.startswith("constraint task"):  # the split is done, calibration begins
                    server.stop()
        assert process.wait(timeout=300) == 0, output
        assert "the tracking store cannot be reached, entries are kept on disk" in output
        assert "the next run sends it, or: kedro sync" in output
        client = MlflowClient(server.database)
        assert {run.info.status for run in _runs(client)} == {"RUNNING"}
        assert "away" in _failing_sync(small_project, server.uri)
        _kedro(small_project, server.uri, "run", "--pipeline", "ingestion")  # nobody there from the beginning
        server.start()
        assert "sent the entries of 2 executions" in _kedro(small_project, server.uri, "sync")
        _assert_complete(client, small_project)
    finally:
        server.stop()


def _failing_sync(project: Path, uri: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kedro", "sync"],
        cwd=project,
        env=_environment(project, uri),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    return done.stdout + done.stderr


def _runs(client: MlflowClient) -> list[Run]:
    experiment = client.get_experiment_by_name("idbpd")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def _assert_complete(client: MlflowClient, project: Path) -> None:
    runs = _runs(client)
    assert len(runs) == 3
    assert {run.info.status for run in runs} == {"FINISHED"}
    (child,) = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    history = pd.read_parquet(project / "data/07_model_output/multi_digits/history.parquet")
    for name in history.columns.drop("step"):
        points = client.get_metric_history(child.info.run_id, name)
        assert {point.step: point.value for point in points} == dict(zip(history["step"], history[name], strict=True))
        assert len(points) == len(history)
    assert len(client.search_logged_models([child.info.experiment_id])) == 1
    assert not (project / "data/09_tracking/outbox").exists()
