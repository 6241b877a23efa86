import math
from pathlib import Path

import pandas as pd
import pytest
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient

from idbpd.tracking.logging import log_history, log_metrics, log_parameters
from idbpd.tracking.runs import PARENT_RUN_VARIABLE, child_run, end_runs
from idbpd.tracking.store import open_store
from idbpd.tracking.tracked import TrackedDataset


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _, experiment = open_store(None, tmp_path / "tracking", "test")
    run = MlflowClient().create_run(experiment)
    monkeypatch.setenv(PARENT_RUN_VARIABLE, run.info.run_id)
    return str(run.info.run_id)


def test_the_same_identity_is_the_same_child_run(parent: str) -> None:
    first = child_run({"dataset": "yeast", "method": "idbpd", "seed": 0})
    assert first != parent
    assert child_run({"dataset": "yeast", "method": "idbpd", "seed": 0}) == first
    assert child_run({"dataset": "yeast", "method": "idbpd", "seed": 1}) != first
    client = MlflowClient()
    client.set_terminated(str(first), "FINISHED")  # as logging a model does, before a later node fails
    end_runs(parent, "KILLED")
    runs = client.search_runs([client.get_run(parent).info.experiment_id])
    assert [run.info.status for run in runs] == ["KILLED"] * 3


def test_a_long_history_arrives_whole_and_what_is_not_finite_stays_out(parent: str) -> None:
    history = pd.DataFrame({"step": range(2500), "objective": 1.0 / (1.0 + pd.RangeIndex(2500))})
    history.loc[7, "objective"] = math.inf
    log_history(parent, history)
    log_metrics(parent, {"final_objective": math.nan, "final_constraint": -0.5})
    client = MlflowClient()
    points = {point.step: point.value for point in client.get_metric_history(parent, "objective")}
    assert points == {step: value for step, value in enumerate(history["objective"]) if step != 7}
    assert client.get_run(parent).data.metrics["final_constraint"] == -0.5
    assert "final_objective" not in client.get_run(parent).data.metrics


def test_nested_parameters_are_flat_and_more_than_a_hundred_fit(parent: str) -> None:
    log_parameters(parent, {"model": {"hidden": 100}, **{f"parameter_{index}": index for index in range(150)}})
    params = MlflowClient().get_run(parent).data.params
    assert params["model.hidden"] == "100"
    assert len(params) == 151


def test_untracked_it_is_just_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARENT_RUN_VARIABLE, raising=False)
    path = tmp_path / "certificate.json"
    dataset = TrackedDataset(
        dataset={"type": "json.JSONDataset", "filepath": str(path)},
        run={"dataset": "yeast"},
        log={"final_metrics": ["objective"]},
    )
    dataset.save({"objective": 1.0})
    assert dataset.load() == {"objective": 1.0}
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_kind_of_entry_is_refused_before_the_run(tmp_path: Path) -> None:
    config = {
        "type": "idbpd.tracking.TrackedDataset",
        "dataset": {"type": "json.JSONDataset", "filepath": str(tmp_path / "a.json")},
        "run": {},
        "log": {"metric": []},
    }
    with pytest.raises(DatasetError, match="cannot log as metric; choose from history, metrics"):
        AbstractDataset.from_config("a", config)
