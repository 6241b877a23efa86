"""``kedro run`` as a user starts it, in a process of its own: what it prints, leaves behind and tracks."""

import json
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from safetensors.torch import load_file

from tests.kedro_project import KedroProject, read_until

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
    project: KedroProject
    output: str
    connections: Path

    @property
    def results(self) -> list[str]:
        """The numbers that a run is judged by."""
        folder = self.project.data / "08_reporting/multi_digits"
        return [(folder / name).read_text() for name in ("certificate.json", "quality.json")]


def _guarded(project: KedroProject) -> dict[str, str]:
    """Nothing that this test suite sets for itself, and a guard that writes down every connection."""
    guard = project.path / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(NO_NETWORK)
    return {
        "PYTHONPATH": f"{guard}{os.pathsep}{project.path / 'src'}",
        "CONNECTIONS": str(project.path / "connections.txt"),
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    project = KedroProject.copied_to(tmp_path_factory.mktemp("run") / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DO_NOT_TRACK")
        # Any folder of the project will do.
        output = project.kedro_process(
            "run", params=SHORT, environment=_guarded(project), cwd=project.path / "src" / "idbpd"
        )
    return Finished(project, output, project.path / "connections.txt")


def test_it_prints_the_results_and_where_to_look(finished: Finished) -> None:
    for text in (
        "priority: worst-case loss",
        "constraint: worst-case loss",
        "priority: the same, test",
        "constraint: the same, test",
        "constraint: its bound, test",
        "equal weights",
        "constant",
        "next to other models",
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


def test_it_opens_no_connection(finished: Finished) -> None:
    assert not finished.connections.exists()


def test_results_are_complete_and_nothing_partial_is_left(finished: Finished) -> None:
    data = finished.project.data
    certificate = json.loads((data / "08_reporting/multi_digits/certificate.json").read_text())
    assert set(TRACKED) < set(certificate)
    assert certificate["infeasibility"] == pytest.approx(max(certificate["constraint"], 0))
    assert certificate["slackness"] == pytest.approx(abs(certificate["multiplier"] * certificate["constraint"]))
    history = pd.read_parquet(data / "07_model_output/multi_digits/history.parquet")
    assert list(history["step"]) == list(range(len(history)))
    assert {"trunk.weight", "heads.task.0.weight", "heads.task.1.weight"} < set(
        load_file(data / "06_models/multi_digits/weights.safetensors")
    )
    assert not list(finished.project.path.rglob(".partial*"))
    assert not (finished.project.path / "src/idbpd/mlruns").exists()
    assert not (finished.project.path / ".viz").exists()  # the hooks of Kedro-Viz are off


def test_the_tracked_run_has_all_results(finished: Finished) -> None:
    client, runs = finished.project.tracked_runs()
    parent, child = runs
    assert [run.info.status for run in runs] == ["FINISHED", "FINISHED"]
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert {name: child.data.tags[name] for name in ("dataset", "method", "seed")} == {
        "dataset": "multi_digits",
        "method": "idbpd",
        "seed": "0",
    }
    assert parent.data.params["problem.worst_case"] == "auto"
    certificate = json.loads((finished.project.data / "08_reporting/multi_digits/certificate.json").read_text())
    assert float(child.data.params["threshold"]) == certificate["threshold"]
    history = pd.read_parquet(finished.project.data / "07_model_output/multi_digits/history.parquet")
    for name in TRACKED:
        assert child.data.metrics[f"final_{name}"] == certificate[name]
        points = client.get_metric_history(child.info.run_id, name)
        assert {point.step: point.value for point in points} == dict(zip(history["step"], history[name], strict=True))
    assert 0 < child.data.metrics["test_priority_hit_rate"] <= 1
    artifacts = {artifact.path for artifact in client.list_artifacts(child.info.run_id)}
    assert {"kkt_curves.png", "certificate.json", "standing.json", "clock.parquet", "weights.safetensors"} <= artifacts
    assert client.search_logged_models([child.info.experiment_id])[0].source_run_id == child.info.run_id


def test_a_comparison_is_no_run_and_one_run_alone_is_refused(finished: Finished) -> None:
    _, before = finished.project.tracked_runs()
    output = finished.project.kedro("run", "--pipeline", "compare", params="compare.dataset=nothing", exit_code=1)
    assert "there is no finished run of it; there are runs of multi_digits" in output
    parent, child = (run.info.run_id for run in before[:2])
    ids = f"compare.runs={parent}+{child}"
    assert "are the same run" in finished.project.kedro("run", "--pipeline", "compare", params=ids, exit_code=1)
    assert len(finished.project.tracked_runs()[1]) == len(before)
    assert not (finished.project.data / "08_reporting" / "comparisons" / "comparison.html").exists()


def test_as_a_package_it_gives_the_same_numbers_to_the_last_digit(finished: Finished) -> None:
    before = finished.results
    output = finished.project.kedro_process("--conf-source", "conf", params=SHORT, module="idbpd")
    assert output.startswith("4000 samples, 100 features, 10 labels")
    assert finished.results == before
    compared = finished.project.kedro("run", "--pipeline", "compare", params="compare.dataset=multi_digits")
    assert "NO DIFFERENCE" in compared  # two runs, and that a comparison can read what runs leave
    assert (finished.project.data / "08_reporting" / "comparisons" / "comparison.html").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 1)], ids=["terminated", "Ctrl-C"]
)
def test_a_stopped_run_is_tracked_as_killed(tracked_project: KedroProject, number: signal.Signals, code: int) -> None:
    project = tracked_project
    endless = "calibration.max_steps=1000000,calibration.tolerance=1e-30,problem.weight_decay=0.001"
    with project.started("run", params=endless) as process:
        read_until(process, "constraint task")  # the split is done, calibration begins
        time.sleep(0.5)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Stopped. The work is kept: " in output
    assert "The same command goes on from there" in output
    _, runs = project.tracked_runs()
    assert {run.info.status for run in runs} == {"KILLED"}
    assert not list(project.path.rglob(".partial*"))
