"""A run whose tracking server goes away continues; what it tracked is sent later."""

from pathlib import Path

import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from tests.kedro_project import KedroProject, read_until
from tests.tracking.server import Server

SHORT = "calibration.max_steps=10,training.max_steps=10,model.hidden=4,problem.weight_decay=0.001"


@pytest.mark.slow
def test_a_server_that_was_away_gets_the_rest_later(project: KedroProject, tmp_path: Path) -> None:
    project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    server = Server(tmp_path / "server")
    environment = {"MLFLOW_TRACKING_URI": server.uri}
    server.start()
    try:
        with project.started("run", params=SHORT, environment=environment) as process:
            output = read_until(process, "limits on a validation part")  # the first results are tracked
            server.stop()
            output += process.communicate(timeout=300)[0]
        assert process.returncode == 0, output
        assert "the tracking store cannot be reached, entries are kept on disk" in output
        assert "the next run sends it, or: kedro sync" in output
        client = MlflowClient(server.database)
        assert {run.info.status for run in _runs(client)} == {"RUNNING"}
        assert "away" in project.kedro("sync", environment=environment, exit_code=1)
        # The server is away from the beginning.
        project.kedro("run", "--pipeline", "ingestion", environment=environment)
        server.start()
        assert "sent the entries of 2 executions" in project.kedro("sync", environment=environment)
        _assert_complete(client, project)
    finally:
        server.stop()


def _runs(client: MlflowClient) -> list[Run]:
    experiment = client.get_experiment_by_name("idbpd")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def _assert_complete(client: MlflowClient, project: KedroProject) -> None:
    runs = _runs(client)
    assert len(runs) == 3
    assert {run.info.status for run in runs} == {"FINISHED"}
    (child,) = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    history = pd.read_parquet(project.data / "07_model_output/multi_digits/history.parquet")
    for name in history.columns.drop("step"):
        points = client.get_metric_history(child.info.run_id, name)
        assert {point.step: point.value for point in points} == dict(zip(history["step"], history[name], strict=True))
        assert len(points) == len(history)
    assert len(client.search_logged_models([child.info.experiment_id])) == 1
    assert not (project.data / "09_tracking/outbox").exists()
