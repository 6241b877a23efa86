"""Runs that are found in a real store with all their files, and what is refused."""

import json
from pathlib import Path

import pytest
from kedro.io import DatasetError
from mlflow import MlflowClient

from idbpd.errors import ConfigurationError
from idbpd.experiment.tracked.run import TrackedRun
from idbpd.tracking import TrackedRunsDataset
from idbpd.tracking.store import URI_VARIABLE, Store
from tests.pipelines.run_comparison.made_up import made_up


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Path:
    return tmp_path / "files"


def _track(run: TrackedRun, folder: Path, *, dataset: str = "customers", status: str = "FINISHED") -> tuple[str, str]:
    """A parent and a child run as `kedro run` leaves them; their ids."""
    client = MlflowClient()
    experiment = client.get_experiment_by_name("test")
    assert experiment is not None
    tags = {"pipeline": "__default__", "mlflow.runName": run.name}
    parent = client.create_run(experiment.experiment_id, tags=tags).info.run_id
    own = {**tags, "mlflow.parentRunId": parent, "dataset": dataset, "split_sha256": "e" * 64}
    child = client.create_run(experiment.experiment_id, tags=own).info.run_id
    for name in ("parent", "child"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "parent" / "parameters.json").write_text(json.dumps({"seed": 0, "model": {"hidden": 7}}))
    (folder / "parent" / "packages.txt").write_text("torch==2.13.0\nnumpy==2.4.6\n")
    for name in ("certificate", "quality", "outcome", "standing"):
        (folder / "child" / f"{name}.json").write_text(json.dumps(getattr(run, name)))
    run.comparison.to_csv(folder / "child" / "comparison.csv", index=False)
    run.history.to_parquet(folder / "child" / "history.parquet")
    assert run.clock is not None
    run.clock.to_parquet(folder / "child" / "clock.parquet")
    client.log_artifacts(parent, str(folder / "parent"))
    client.log_artifacts(child, str(folder / "child"))
    client.log_metric(child, "final_objective", 0.5)
    for one in (child, parent):
        client.set_terminated(one, status)
    return parent, child


def test_a_run_is_found_by_its_own_id_and_by_that_of_its_parent(folder: Path) -> None:
    made = made_up(loss=0.5)
    (parent, child), (_, other) = _track(made, folder), _track(made_up(loss=0.6), folder)
    first, second = TrackedRunsDataset().load().by_id([parent, other])
    assert first.run_id == child
    assert first.parameters == {"seed": 0, "model.hidden": 7}
    assert first.packages == {"torch": "2.13.0", "numpy": "2.4.6"}
    assert first.origin == {"data and split (SHA-256)": "e" * 64}
    assert first.standing == made.standing
    assert first.priority == made.priority
    assert second.value(second.priority, "worst_case_loss") == 0.6
    with pytest.raises(ConfigurationError, match=f"{parent} and {child} are the same run"):
        TrackedRunsDataset().load().by_id([parent, child])


def test_a_run_from_before_comparisons_has_neither_standing_nor_clock(folder: Path) -> None:
    _, old = _track(made_up(), folder)
    uri = MlflowClient().get_run(old).info.artifact_uri
    for name in ("standing.json", "clock.parquet"):
        Path(uri.removeprefix("file://"), name).unlink()
    (run,) = TrackedRunsDataset().load().by_id([old])
    assert (run.standing, run.clock) == (None, None)


def test_the_last_runs_of_a_data_set_are_whole_finished_ones(folder: Path) -> None:
    ids = [_track(made_up(), folder)[1] for _ in range(3)]
    _track(made_up(), folder, dataset="others")
    _track(made_up(), folder, status="FAILED")
    _, point = _track(made_up(), folder)
    MlflowClient().set_tag(point, "pipeline", "frontier")
    runs = TrackedRunsDataset().load()
    assert [run.run_id for run in runs.last_of("customers", 10)] == ids
    assert [run.run_id for run in runs.last_of("customers", 2)] == ids[1:]
    with pytest.raises(
        ConfigurationError, match="'nothing': there is no finished run of it; there are runs of customers"
    ):
        runs.last_of("nothing", 10)


def test_versions_have_their_numbers_and_the_champion_is_known(folder: Path) -> None:
    client = MlflowClient()
    client.create_registered_model("idbpd-customers")
    for loss in (0.6, 0.5):
        _, child = _track(made_up(loss=loss), folder)
        tags = {"verdict": "promoted"}
        client.create_model_version("idbpd-customers", folder.as_uri(), run_id=child, tags=tags)
    client.set_registered_model_alias("idbpd-customers", "champion", "2")
    for name in ("idbpd-customers", "customers"):
        runs = TrackedRunsDataset().load().versions_of(name, 10)
        assert [(run.version, run.is_champion, run.remark) for run in runs] == [
            (1, False, "promoted"),
            (2, True, "promoted"),
        ]
    with pytest.raises(ConfigurationError, match="'others': there is no such model; there are idbpd-customers"):
        TrackedRunsDataset().load().versions_of("others", 10)


def test_an_unknown_an_unfinished_and_an_empty_run_are_refused(folder: Path) -> None:
    runs = TrackedRunsDataset().load()
    _, good = _track(made_up(), folder)
    _, killed = _track(made_up(), folder, status="KILLED")
    with pytest.raises(ConfigurationError, match=r"'compare\.runs' = 'abc': there is no such run in the store"):
        runs.by_id([good, "abc"])
    with pytest.raises(ConfigurationError, match="that run is KILLED; only a finished one has results"):
        runs.by_id([good, killed])
    experiment = MlflowClient().get_run(good).info.experiment_id
    empty = MlflowClient().create_run(experiment).info.run_id
    MlflowClient().set_terminated(empty)
    with pytest.raises(ConfigurationError, match=f"run {empty} has 0 child runs"):
        runs.by_id([good, empty])
    MlflowClient().set_tag(empty, "mlflow.parentRunId", MlflowClient().get_run(good).data.tags["mlflow.parentRunId"])
    MlflowClient().set_tag(empty, "dataset", "customers")
    with pytest.raises(ConfigurationError, match=f"run {empty} cannot be compared: it has no certificate.json"):
        runs.by_id([good, empty])


def test_without_tracking_there_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(URI_VARIABLE, raising=False)
    with pytest.raises(DatasetError, match=r"a comparison needs tracked runs: set 'enabled: true' in mlflow\.yml"):
        TrackedRunsDataset().load()
