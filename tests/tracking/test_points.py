"""Several models of one run: a folder and a child run each."""

import json
from pathlib import Path
from typing import Any

import pytest
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient

from idbpd.experiment.tracked.point import TrackedPoint
from idbpd.tracking.journal import Journal
from idbpd.tracking.points import TrackedPointsDataset
from idbpd.tracking.runs import child_run
from tests.tracking.conftest import RUN

RESULTS = {
    "certificate": {
        "file": "certificate.json",
        "dataset": {"type": "json.JSONDataset"},
        "log": {"final_metrics": ["objective"]},
    }
}


def _point(slack: str, objective: float) -> TrackedPoint:
    return TrackedPoint({"slack": slack}, {"certificate": {"objective": objective}})


def test_every_point_has_a_folder_and_a_run(journal: Journal, tmp_path: Path) -> None:
    dataset = TrackedPointsDataset(path=str(tmp_path / "points"), run=RUN, results=RESULTS)
    assert not dataset.exists()
    dataset.save({"tight": _point("0", 0.5), "loose": _point("0.2", 0.25)})
    folders = dataset.load()
    assert list(folders) == ["loose", "tight"]
    assert json.loads((folders["loose"] / "certificate.json").read_text()) == {"objective": 0.25}
    for slack, objective in (("0", 0.5), ("0.2", 0.25)):
        run_id = child_run({**RUN, "slack": slack})
        assert run_id is not None
        run = MlflowClient().get_run(run_id)
        assert run.data.tags["slack"] == slack
        assert run.data.metrics == {"final_objective": objective}
        assert [file.path for file in MlflowClient().list_artifacts(run_id)] == ["certificate.json"]


@pytest.mark.parametrize(
    "wrong",
    [{"dataset": {"type": "json.JsonDataset"}}, {"log": {"final_metric": ["objective"]}}],
)
def test_a_wrong_entry_is_an_error_before_anything_is_trained(wrong: dict[str, Any], tmp_path: Path) -> None:
    results = {"certificate": {**RESULTS["certificate"], **wrong}}
    config = {"type": "idbpd.tracking.TrackedPointsDataset", "path": str(tmp_path), "run": RUN, "results": results}
    with pytest.raises(DatasetError):
        AbstractDataset.from_config("points", config)
