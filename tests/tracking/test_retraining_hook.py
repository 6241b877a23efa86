"""A retraining or reproduction that cannot be is refused in one line, and one that fails says so to the scheduler."""

import json

import pytest

from tests.kedro_project import KedroProject

TABLE = (
    "size,ill,well,urgent,calm\n" + "".join(f"{row},{row % 2},{1 - row % 2},1,0\n" for row in range(8)) + "x,1,0,1,0\n"
)
SOURCE = """
mine:
  type: idbpd.datasets.TabularDataset
  filepath: mine.csv
  tasks: {first: [ill, well], second: [urgent, calm]}
"""


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
def test_it_is_refused_in_one_line(tracked_project: KedroProject, pipeline: str, parameters: str, message: str) -> None:
    output = tracked_project.kedro("run", "--pipeline", pipeline, params=parameters, exit_code=1)
    (error,) = [line for line in output.splitlines() if line.startswith("Error: ")]
    assert message in error
    assert "Traceback" not in output


def test_without_tracking_there_is_no_registry(project: KedroProject) -> None:
    project.configure("mlflow.yml", "enabled: false\n")
    output = project.kedro("run", "--pipeline", "retrain", exit_code=1)
    assert "a retraining needs the model registry, but 'mlflow.enabled' is false; set it to true" in output


def test_a_failure_is_left_where_a_scheduler_looks(tracked_project: KedroProject) -> None:
    project = tracked_project
    (project.path / "mine.csv").write_text(TABLE)
    project.configure("sources.yml", SOURCE)
    project.kedro("run", "--pipeline", "retrain", params="dataset=mine", exit_code=1)
    record = json.loads((project.path / "data/08_reporting/mine/retraining.json").read_text())
    assert (record["outcome"], record["exit_code"]) == ("failed", 1)
    assert record["message"].startswith("failed: ")
    assert "mine.csv" in record["message"]
