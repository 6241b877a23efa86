from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from kedro.framework.startup import bootstrap_project
from mlflow import MlflowClient

from idbpd.cli import cli


def test_data_that_cannot_be_trained_on_end_in_one_line_and_a_failed_run(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("KEDRO_LOGGING_CONFIG", "left alone")
    store = f"sqlite:///{project / 'elsewhere.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    columns = {"age": [1.0, np.nan, 3.0], "label:a": [0, 1, 0], "label:b": [1, 0, 1]}
    pd.DataFrame(columns).to_parquet(project / "mine.parquet")
    (project / "conf" / "local" / "sources.yml").write_text(
        "mine:\n  type: pandas.ParquetDataset\n  filepath: mine.parquet\n"
    )
    result = CliRunner().invoke(cli, ["run", "--params", "dataset=mine"], obj=bootstrap_project(project))
    assert result.exit_code == 1
    assert "mine.parquet, row 2: feature 'age' is missing (or not a number); features must be finite" in result.output
    client = MlflowClient(store)
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    assert run.info.status == "FAILED"
    assert "mine.parquet, row 2: feature 'age' is missing" in run.data.tags["error"]
    assert run.data.params["dataset"] == "mine"
    assert not list((project / "data" / "09_tracking").rglob("*"))  # all is in the store, elsewhere
    assert not list((project / "data").rglob("*.parquet"))
