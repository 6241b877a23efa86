"""``kedro run --pipeline benchmark`` as a user starts it: what is tracked, what is taken over, what fails."""

import re
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from idbpd.baselines import grid
from tests.kedro_project import KedroProject, read_until

# One worker for all of them: they look at what one benchmark left.
pytestmark = [pytest.mark.xdist_group("benchmark"), pytest.mark.slow]

SOURCES = """
mine:
  type: idbpd.datasets.TabularDataset
  filepath: mine.csv
  tasks: {important: [a, b], limited: [c, d]}
"""
TINY = ",".join(
    (
        *("benchmark.datasets=mine", "benchmark.methods=idbpd+gdma_rho2+discretization_cooper"),
        *("benchmark.settings=product", "benchmark.seeds=0", "benchmark.seconds=0.3"),
        *("benchmark.tuning_seconds=0.05", "benchmark.workers=1"),
        *("benchmark.calibration_steps=5", "model.hidden=4"),
    )
)
HISTORY = ("objective", "constraint", "stationarity", "infeasibility", "slackness", "multiplier", "seconds")


class Benchmark(NamedTuple):
    """A benchmark of three methods, one of them broken, that was killed after its first cell and started again."""

    project: KedroProject
    killed: list[Run]  # what was tracked when it was killed
    output: str  # of the second start

    def runs(self) -> tuple[MlflowClient, Run, list[Run]]:
        """The parent run of the second start, and what is under it."""
        client, runs = self.project.tracked_runs()
        parent = [run for run in runs if "cell" not in run.data.tags][-1]
        return client, parent, [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]


def _break_a_method(project: KedroProject) -> None:
    module = project.path / "src" / "idbpd" / "baselines" / "discretization.py"
    whole = module.read_text()
    line = "        require_rates(self.primal_rate, self.dual_rate)\n"
    assert line in whole
    module.write_text(whole.replace(line, '        raise ArithmeticError("broken on purpose")\n'))


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Benchmark:
    project = KedroProject.copied_to(tmp_path_factory.mktemp("benchmark") / "project", database)
    generator = np.random.default_rng(0)
    labels = np.tile(np.eye(2, dtype=int)[generator.integers(0, 2, 60)], 2)
    table = pd.DataFrame(generator.normal(size=(60, 3)), columns=["x", "y", "z"])
    table[["a", "b", "c", "d"]] = labels
    table.to_csv(project.path / "mine.csv", index=False)
    project.configure("sources.yml", SOURCES)
    _break_a_method(project)
    with project.started("run", "--pipeline", "benchmark", params=TINY) as process:
        read_until(process, "1/3 ")
        process.send_signal(signal.SIGKILL)
        # The pipe is closed when the last process that could write to it is gone: workers do not outlive their parent.
        process.communicate(timeout=60)
    _, killed = project.tracked_runs()
    return Benchmark(project, killed, project.kedro_process("run", "--pipeline", "benchmark", params=TINY))


def test_every_cell_is_a_child_run_under_one_parent(benchmark: Benchmark) -> None:
    client, parent, children = benchmark.runs()
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
            assert 0 <= run.data.metrics["test_important_roc_auc"] <= 1
    (tuned,) = [run for run in children if run.data.tags["method"] == "gdma_rho2"]
    assert tuned.data.params["tuning.trials"] == "6.0"
    assert float(tuned.data.params["options.gamma"]) in {point["gamma"] for point in grid("gdma_rho2")}
    # A cell records the parameters of its setting, not those of the execution.
    assert tuned.data.params["problem.weight_decay"] == "0.001"


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(benchmark: Benchmark) -> None:
    _, _, children = benchmark.runs()
    (lost,) = [run for run in children if run.info.status == "FAILED"]
    assert lost.data.tags["method"] == "discretization_cooper"
    assert lost.data.tags["status"] == "FAILED"
    assert "ArithmeticError: broken on purpose" in lost.data.tags["error"]
    assert "failed: mine product discretization_cooper seed 0: every trial failed" in benchmark.output


def test_a_killed_benchmark_runs_only_what_is_missing(benchmark: Benchmark) -> None:
    first, *cells = benchmark.killed
    assert first.info.status == "RUNNING"
    done = {run.data.tags["method"] for run in cells if run.info.status == "FINISHED"}
    assert done
    (counts,) = re.findall(r"3 cells: (\d) run, (\d) taken over, 1 failed", benchmark.output)
    _, _, children = benchmark.runs()
    reused = {run.data.tags["method"] for run in children if run.data.tags.get("reused") == "true"}
    assert done <= reused  # a cell may end between its line and the kill
    assert counts == (str(2 - len(reused)), str(len(reused)))


def test_the_report_is_made_from_what_was_tracked(benchmark: Benchmark) -> None:
    project = benchmark.project
    stored = project.data / "07_model_output" / "benchmark"
    moved = stored.rename(stored.with_name("away"))
    try:
        project.kedro("run", "--pipeline", "report")
    finally:
        moved.rename(stored)
    folder = project.data / "08_reporting" / "benchmark"
    page = (folder / "results.md").read_text()
    assert "## mine, product" in page
    assert "| mine | product | discretization_cooper | 0 | every trial failed; " in page
    figures = {path.name for path in (folder / "figures" / "results").iterdir()}
    assert figures == {"profiles.svg", "mine_product_kkt.svg", "mine_product_weights.svg"}
    assert not list(project.path.rglob(".partial*"))
    assert not (project.path / "docs").exists()  # the project's own page is made on purpose only
    project.kedro("run", "--pipeline", "report", params="report.to=docs")
    assert "report.to=docs" in (project.path / "docs" / "results.md").read_text()
    assert {path.name for path in (project.path / "docs" / "figures" / "results").iterdir()} == figures
