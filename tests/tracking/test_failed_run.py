import numpy as np
import pandas as pd
from mlflow import MlflowClient

from tests.kedro_project import KedroProject


def test_unusable_data_end_in_one_line_and_a_failed_run(project: KedroProject) -> None:
    store = f"sqlite:///{project.path / 'elsewhere.db'}"
    columns = {"age": [1.0, np.inf, *range(28)], "label:a": [0, 1, 0] * 10, "label:b": [1, 0, 1] * 10}
    pd.DataFrame(columns).to_parquet(project.path / "mine.parquet")
    project.configure("sources.yml", {"mine": {"type": "pandas.ParquetDataset", "filepath": "mine.parquet"}})
    environment = {"MLFLOW_TRACKING_URI": store}
    output = project.kedro("run", params="dataset=mine", environment=environment, exit_code=1)
    assert "mine.parquet, row 2: feature 'age' is infinite; numbers must be finite" in output
    client = MlflowClient(store)
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    assert run.info.status == "FAILED"
    assert "mine.parquet, row 2: feature 'age' is infinite" in run.data.tags["error"]
    assert run.data.params["dataset"] == "mine"
    assert not list((project.data / "09_tracking").rglob("*"))  # all is in the store, elsewhere
    assert not list(project.data.rglob("*.parquet"))


TABLE = "size,ill,well\n" + "".join(f"{row % 7},{row % 2},{row % 3 % 2}\n" for row in range(60))
SOURCE = {"type": "idbpd.datasets.TabularDataset", "filepath": "mine.csv", "tasks": {"first": "ill", "second": "well"}}


def test_a_mistyped_parameter_leaves_no_run(tracked_project: KedroProject) -> None:
    """Also one that only the data can show to be wrong, when the run is open."""
    project = tracked_project
    (project.path / "mine.csv").write_text(TABLE)
    project.configure("sources.yml", {"mine": SOURCE})
    for mistake, wrong in (("priority=frist", "frist"), ("tasks.secnd.slack=0.2", "secnd"), ("seeed=5", "seeed")):
        output = project.kedro("run", params=f"dataset=mine,{mistake}", exit_code=1)
        (error,) = [line for line in output.splitlines() if line.startswith("Error: ")]
        assert repr(wrong) in error
    project.kedro("run", "--pipeline", "reproduce", params="run_id=nope", exit_code=1)
    assert project.tracked_runs()[1] == []
    assert not (project.data / "09_tracking/outbox").exists()
