"""A retraining or reproduction that cannot be is refused in one line, and one that fails says so to the scheduler."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kedro.framework.startup import bootstrap_project

from idbpd.cli import cli

TABLE = (
    "size,ill,well,urgent,calm\n" + "".join(f"{row},{row % 2},{1 - row % 2},1,0\n" for row in range(8)) + "x,1,0,1,0\n"
)
SOURCE = """
mine:
  type: idbpd.datasets.TabularDataset
  filepath: mine.csv
  tasks: {first: [ill, well], second: [urgent, calm]}
"""


class Run:
    def __init__(self, project: Path) -> None:
        self.project = project

    def __call__(self, pipeline: str, *arguments: str) -> Result:
        command = ["run", "--pipeline", pipeline, *arguments]
        return CliRunner().invoke(cli, command, obj=bootstrap_project(self.project))


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(project)
    monkeypatch.setenv("KEDRO_LOGGING_CONFIG", "left alone")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Run(project)


@pytest.mark.parametrize(
    ("pipeline", "parameters", "message"),
    [
        (
            "retrain",
            "split.test_fraction=0",
            "parameter 'split.test_fraction' = 0 leaves no test data",
        ),
        ("retrain", "retrain.margin=-1", "parameter 'retrain.margin' = -1 is not valid"),
        ("reproduce", "seed=0", "parameter 'run_id' is missing: kedro run --pipeline reproduce --params run_id=..."),
        ("reproduce", "run_id=nope", "parameter 'run_id' = 'nope': there is no such run in the store"),
    ],
)
def test_it_is_refused_in_one_line(run: Run, pipeline: str, parameters: str, message: str) -> None:
    result = run(pipeline, "--params", parameters)
    assert result.exit_code == 1
    (error,) = [line for line in result.output.splitlines() if line.startswith("Error: ")]
    assert message in error
    assert "Traceback" not in result.output


def test_without_tracking_there_is_no_registry(run: Run) -> None:
    (run.project / "conf" / "local" / "mlflow.yml").write_text("enabled: false\n")
    result = run("retrain")
    assert result.exit_code == 1
    assert "a retraining needs the model registry, but 'mlflow.enabled' is false; set it to true" in result.output


def test_a_failure_is_left_where_a_scheduler_looks(run: Run) -> None:
    (run.project / "mine.csv").write_text(TABLE)
    (run.project / "conf" / "local" / "sources.yml").write_text(SOURCE)
    result = run("retrain", "--params", "dataset=mine")
    assert result.exit_code == 1
    record = json.loads((run.project / "data/08_reporting/mine/retraining.json").read_text())
    assert (record["outcome"], record["exit_code"]) == ("failed", 1)
    assert record["message"].startswith("failed: ")
    assert "mine.csv" in record["message"]
