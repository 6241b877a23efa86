"""Each of Kedro's runners logs to the right run, and a run that is stopped says so whatever its runner."""

import signal
import time

import pandas as pd
import pytest

from tests.kedro_project import KedroProject, read_until

SHORT = "calibration.max_steps=10,training.max_steps=10,model.hidden=4,problem.weight_decay=0.001"
ENDLESS = "calibration.max_steps=1000000,calibration.tolerance=1e-30,model.hidden=4"


@pytest.fixture
def small_project(tracked_project: KedroProject) -> KedroProject:
    tracked_project.configure("sources.yml", {"multi_digits": {"pairs": 200}})
    return tracked_project


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["ThreadRunner", "ParallelRunner"])
def test_workers_log_to_the_run_of_their_execution(small_project: KedroProject, runner: str) -> None:
    # The workers of a parallel runner are copies of its process, and so it needs one of its own.
    kedro = small_project.kedro if runner == "ThreadRunner" else small_project.kedro_process
    kedro("run", f"--runner={runner}", params=SHORT)
    client, (parent, child) = small_project.tracked_runs()
    assert (parent.info.status, child.info.status) == ("FINISHED", "FINISHED")
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    history = pd.read_parquet(small_project.data / "07_model_output/multi_digits/history.parquet")
    points = client.get_metric_history(child.info.run_id, "objective")
    assert {point.step: point.value for point in points} == dict(
        zip(history["step"], history["objective"], strict=True)
    )
    artifacts = {artifact.path for artifact in client.list_artifacts(child.info.run_id)}
    assert {"certificate.json", "history.parquet", "kkt_curves.png", "report.html", "weights.safetensors"} <= artifacts
    assert child.inputs is not None
    assert {data.dataset.name for data in child.inputs.dataset_inputs} == {"multi_digits train", "multi_digits test"}
    assert not (small_project.data / "09_tracking/outbox").exists()


@pytest.mark.slow
def test_a_stopped_run_ends_at_once_and_as_killed(small_project: KedroProject) -> None:
    with small_project.started("run", "--runner=ParallelRunner", params=ENDLESS) as process:
        read_until(process, "constraint task")  # the split is done, calibration begins
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    _, runs = small_project.tracked_runs()
    assert {run.info.status for run in runs} == {"KILLED"}
