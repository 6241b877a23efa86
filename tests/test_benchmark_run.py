"""``kedro run --pipeline benchmark`` as a user starts it: what is tracked, what is taken over, what fails."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from idbpd.baselines import grid
from tests.conftest import copy_project

# One worker for all of them: they look at what one benchmark left.
pytestmark = [pytest.mark.xdist_group("benchmark"), pytest.mark.slow]

SOURCES = """
mine:
  type: idbpd.datasets.TabularDataset
  filepath: mine.csv
  tasks: {important: [a, b], limited: [c, d]}
"""
TINY = [
    *("benchmark.datasets=mine", "benchmark.methods=idbpd+gdma_rho2+discretization_cooper"),
    *("benchmark.settings=product", "benchmark.seeds=0", "benchmark.seconds=0.3"),
    *("benchmark.tuning_seconds=0.05", "benchmark.workers=1"),
    *("benchmark.calibration_steps=5", "model.hidden=4"),
]
HISTORY = ("objective", "constraint", "stationarity", "infeasibility", "slackness", "multiplier", "seconds")


class Finished(NamedTuple):
    project: Path
    output: str

    def runs(self) -> tuple[MlflowClient, list[Run]]:
        client = MlflowClient(f"sqlite:///{self.project / 'data/09_tracking/mlflow.db'}")
        experiment = client.get_experiment_by_name("idbpd")
        assert experiment is not None
        return client, client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])


def _environment(project: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    return environment | {"PYTHONPATH": str(project / "src")}


def _run(project: Path, *arguments: str) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "kedro", "run", *arguments],
        cwd=project,
        env=_environment(project),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Finished(project, done.stdout + done.stderr)


def _benchmark(project: Path, *changes: str) -> Finished:
    return _run(project, "--pipeline", "benchmark", "--params", ",".join([*TINY, *changes]))


def _project(folder: Path) -> Path:
    project = copy_project(folder / "project")
    generator = np.random.default_rng(0)
    labels = np.tile(np.eye(2, dtype=int)[generator.integers(0, 2, 60)], 2)
    table = pd.DataFrame(generator.normal(size=(60, 3)), columns=["x", "y", "z"])
    table[["a", "b", "c", "d"]] = labels
    table.to_csv(project / "mine.csv", index=False)
    (project / "conf" / "local" / "sources.yml").write_text(SOURCES)
    return project


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A benchmark of three methods, one of which is broken."""
    project = _project(tmp_path_factory.mktemp("benchmark"))
    module = project / "src" / "idbpd" / "baselines" / "discretization.py"
    whole = module.read_text()
    line = "        require_rates(self.primal_rate, self.dual_rate)\n"
    assert line in whole
    module.write_text(whole.replace(line, '        raise ArithmeticError("broken on purpose")\n'))
    return _benchmark(project)


def test_every_cell_is_a_child_run_under_one_parent(finished: Finished) -> None:
    client, (parent, *children) = finished.runs()
    assert parent.info.status == "FINISHED"
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    identity = [tuple(run.data.tags[name] for name in ("dataset", "setting", "method", "seed")) for run in children]
    assert sorted(identity) == [
        ("mine", "product", method, "0") for method in ("discretization_cooper", "gdma_rho2", "idbpd")
    ]
    for run in children:
        if run.data.tags["method"] != "discretization_cooper":
            assert run.info.status == "FINISHED"
            assert float(run.data.params["threshold"]) > 0
            assert run.data.params["budget_seconds"] == "0.3"
            for name in HISTORY:
                steps = [point.step for point in client.get_metric_history(run.info.run_id, name)]
                assert steps == sorted(set(steps))
                assert steps[0] == 0
            for name in HISTORY[:-1]:
                assert f"final_{name}" in run.data.metrics
            assert 0 <= run.data.metrics["test_important_hit_rate"] <= 1
    (tuned,) = [run for run in children if run.data.tags["method"] == "gdma_rho2"]
    assert tuned.data.params["tuning.trials"] == "6.0"
    assert float(tuned.data.params["options.gamma"]) in {point["gamma"] for point in grid("gdma_rho2")}
    # What the setting changes is said of the cell, not what the execution was given.
    assert tuned.data.params["problem.weight_decay"] == "0.001"


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(finished: Finished) -> None:
    _, (_, *children) = finished.runs()
    (lost,) = [run for run in children if run.info.status == "FAILED"]
    assert lost.data.tags["method"] == "discretization_cooper"
    assert lost.data.tags["status"] == "FAILED"
    assert "ArithmeticError: broken on purpose" in lost.data.tags["error"]
    assert "3 cells: 2 run, 0 taken over, 1 failed" in finished.output
    assert "failed: mine product discretization_cooper seed 0: every trial failed" in finished.output


def test_only_what_is_missing_is_run_again(finished: Finished) -> None:
    again = _benchmark(finished.project)
    assert "3 cells: 0 run, 2 taken over, 1 failed" in again.output
    _, runs = again.runs()
    (parent,) = [run for run in runs[4:] if "cell" not in run.data.tags]
    under = [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert len(under) == 3  # a benchmark is whole under its own parent
    assert {run.data.tags["reused"] for run in under if run.info.status == "FINISHED"} == {"true"}


def test_a_killed_benchmark_goes_on_where_it_was(tmp_path: Path) -> None:
    project = _project(tmp_path)
    parameters = [*TINY, "benchmark.datasets=mine", "benchmark.seeds=0+1", "benchmark.methods=idbpd+gdma_rho2"]
    command = [sys.executable, "-m", "kedro", "run", "--pipeline", "benchmark", "--params", ",".join(parameters)]
    process = subprocess.Popen(
        command, cwd=project, env=_environment(project), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("1/4 "):
                break
        process.send_signal(signal.SIGKILL)
        # The pipe is closed when the last process that could write to it is gone: workers do not outlive their parent.
        process.stdout.read()
        process.wait(timeout=60)
    _, (parent, child, *_) = Finished(project, "").runs()
    assert (parent.info.status, child.info.status) == ("RUNNING", "FINISHED")
    again = _run(project, "--pipeline", "benchmark", "--params", ",".join(parameters))
    (counted,) = re.findall(r"4 cells: (\d) run, (\d) taken over, 0 failed", again.output)
    assert int(counted[1]) >= 1
    assert int(counted[0]) + int(counted[1]) == 4


def test_the_report_is_made_from_what_was_tracked(finished: Finished) -> None:
    stored = finished.project / "data" / "07_model_output" / "benchmark"
    moved = stored.rename(stored.with_name("away"))
    try:
        _run(finished.project, "--pipeline", "report")
    finally:
        moved.rename(stored)
    page = (finished.project / "docs" / "results.md").read_text()
    assert "## mine, product" in page
    assert "| mine | product | discretization_cooper | 0 | every trial failed; " in page
    figures = {path.name for path in (finished.project / "docs" / "figures" / "results").iterdir()}
    assert figures == {"profiles.svg", "mine_product_kkt.svg", "mine_product_weights.svg"}
    assert not list(finished.project.rglob(".partial*"))
