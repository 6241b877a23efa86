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
