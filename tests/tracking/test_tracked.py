"""What results become in the store."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient

from idbpd.tracking.journal import Journal
from idbpd.tracking.logging import TRACKED_STEPS, history, metrics, parameters
from idbpd.tracking.runs import EXECUTION_VARIABLE, child_run, parent_of, track
from idbpd.tracking.tracked import TrackedDataset
from tests.tracking.conftest import RUN


def _child() -> str:
    run_id = child_run(RUN)
    assert run_id is not None
    return run_id


def test_the_same_identity_is_the_same_child_run(journal: Journal) -> None:
    first = _child()
    assert _child() == first
    assert child_run({**RUN, "seed": 1}) != first
    run = MlflowClient().get_run(first)
    parent = MlflowClient().get_run(run.data.tags["mlflow.parentRunId"])
    assert {name: run.data.tags[name] for name in RUN} == {"dataset": "yeast", "method": "idbpd", "seed": "0"}
    assert run.data.tags["pipeline"] == parent.data.tags["pipeline"] == "training"
    assert run.data.params == parent.data.params == {"model.hidden": "8"}
    assert parent.info.start_time == 1_700_000_000_000


def test_all_runs_of_an_execution_end_together(journal: Journal) -> None:
    _child()
    track({**RUN, "seed": 1}, "open", {})
    journal.end(parent_of(journal), "KILLED")
    track(RUN, "open", {})
    client = MlflowClient()
    runs = client.search_runs([client.get_run(_child()).info.experiment_id])
    assert [run.info.status for run in runs] == ["KILLED"] * 3


def test_a_long_history_arrives_whole_and_what_is_not_finite_stays_out(journal: Journal) -> None:
    frame = pd.DataFrame({"step": range(2500), "objective": 1.0 / (1.0 + pd.RangeIndex(2500))})
    frame.loc[7, "objective"] = math.inf
    frame.loc[8, "objective"] = math.nan
    track(RUN, *history(frame))
    track(RUN, *metrics({"final_objective": math.nan, "final_constraint": -0.5}))
    client, run_id = MlflowClient(), _child()
    points = {point.step: point.value for point in client.get_metric_history(run_id, "objective")}
    assert points == {step: value for step, value in enumerate(frame["objective"]) if step not in (7, 8)}
    assert client.get_run(run_id).data.metrics["final_constraint"] == -0.5
    assert "final_objective" not in client.get_run(run_id).data.metrics


def test_a_very_long_history_is_thinned_from_the_first_step_to_the_last() -> None:
    steps = range(2 * TRACKED_STEPS + 2)
    series = history(pd.DataFrame({"step": steps, "objective": [float(step) for step in steps]})).content["series"]
    assert series["objective"]["step"] == [*range(0, len(steps), 3), steps[-1]]
    assert series["objective"]["value"] == [float(step) for step in series["objective"]["step"]]
    whole = pd.DataFrame({"step": range(TRACKED_STEPS), "objective": 0.0})
    assert history(whole).content["series"]["objective"]["step"] == list(range(TRACKED_STEPS))


def test_nested_parameters_are_flat_and_more_than_a_hundred_fit(journal: Journal) -> None:
    track(RUN, *parameters({"problem": {"lambda": 0.1}, **{f"parameter_{index}": index for index in range(150)}}))
    params = MlflowClient().get_run(_child()).data.params
    assert params["problem.lambda"] == "0.1"
    assert len(params) == 152


def test_a_file_is_an_artifact_as_it_was_when_it_was_saved(journal: Journal, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    dataset = TrackedDataset(
        dataset={"type": "json.JSONDataset", "filepath": str(path)}, run=RUN, log={"final_metrics": ["objective"]}
    )
    dataset.save({"objective": 1.0, "more": "text"})
    client, run_id = MlflowClient(), _child()
    assert client.get_run(run_id).data.metrics == {"final_objective": 1.0}
    copy = Path(client.download_artifacts(run_id, "certificate.json"))
    assert json.loads(copy.read_text()) == {"objective": 1.0, "more": "text"}
    assert not list(journal.entries())


def test_without_tracking_it_is_just_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EXECUTION_VARIABLE, raising=False)
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


def test_the_parent_gets_what_people_should_see_first(journal: Journal, tmp_path: Path) -> None:
    dataset = {"type": "json.JSONDataset", "filepath": str(tmp_path / "overview.json")}
    parent = {"metrics": [], "tags": ["verdict"]}
    TrackedDataset(dataset=dataset, run=RUN, parent=parent).save({"verdict": "HOLDS", "limits/upsell": 0.9})
    child = MlflowClient().get_run(_child())
    found = MlflowClient().get_run(child.data.tags["mlflow.parentRunId"])
    assert found.data.metrics == {"limits/upsell": 0.9}
    assert found.data.tags["verdict"] == "HOLDS"
    assert child.data.metrics == {}
    assert child.info.run_name == "yeast idbpd 0 model"


def test_tables_are_named_for_mlflows_page_the_first_one_first_and_sent_twice_they_are_the_same(
    journal: Journal, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"task: what": ["churn: accuracy"], "constrained": ["80.5%"], "rows": [None]})
    for _ in range(2):
        for name, table in (("verdicts", "more"), ("summary", "first")):
            config = {"type": "pandas.CSVDataset", "filepath": str(tmp_path / f"{name}.csv")}
            TrackedDataset(dataset=config, run=RUN, table=table).save(frame)
    empty = {"type": "pandas.CSVDataset", "filepath": str(tmp_path / "empty.csv")}
    TrackedDataset(dataset=empty, run=RUN, table="more").save(frame.iloc[:0])
    client = MlflowClient()
    parent = client.get_run(_child()).data.tags["mlflow.parentRunId"]
    named = json.loads(client.get_run(parent).data.tags["mlflow.loggedArtifacts"])
    assert named == [{"path": f"{name}.json", "type": "table"} for name in ("summary", "verdicts")]
    seen = json.loads(Path(client.download_artifacts(parent, "summary.json")).read_text())
    assert seen == {"columns": [*frame.columns], "data": [["churn: accuracy", "80.5%", None]]}
    with pytest.raises(ValueError, match="cannot log as table yes; choose from first, more"):
        TrackedDataset(dataset=empty, run=RUN, table="yes")
