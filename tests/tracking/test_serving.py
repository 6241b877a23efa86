"""``mlflow models serve`` with an exported model: answers, and refusals with a reason."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import torch

from idbpd.mtl import ExportedModel, FeatureScaling, LabelProbabilities, SharedNetwork
from idbpd.tracking import TrackedModelDataset
from tests.tracking.server import free_port, wait_for

# One worker for all of them: they ask one server.
pytestmark = pytest.mark.xdist_group("serving")

FEATURES = ("age", "weight", "size of shoe")
TASKS = {"priority": ("3", "4"), "constraint": ("5", "6", "7")}
ROW = [1.0, 2.0, 3.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scaling = FeatureScaling(torch.zeros(3), torch.ones(3))
    network = LabelProbabilities(SharedNetwork(3, 4, (2, 3)), scaling)
    path = tmp_path_factory.mktemp("served") / "model"
    TrackedModelDataset(filepath=str(path), run={}).save(ExportedModel(network, FEATURES, TASKS, torch.ones(2, 3)))
    return path


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    port = free_port()
    command = ["models", "serve", "-m", str(folder), "--env-manager", "local", "--host", "127.0.0.1", "-p", str(port)]
    # Of this project the server sees nothing. MLflow looks for uvicorn on the path, as in an active environment.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    with (folder.parent / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *command],
            cwd=folder.parent,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/ping", process)
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def _ask(address: str, body: str) -> requests.Response:
    return requests.post(address, data=body, headers={"Content-Type": "application/json"}, timeout=60)


def _table(rows: list[list[Any]], columns: tuple[str, ...] = FEATURES) -> str:
    return json.dumps({"dataframe_split": {"columns": columns, "data": rows}})


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 1000])
def test_it_answers_with_probabilities_named_by_task_and_label(address: str, rows: int) -> None:
    response = _ask(address, _table([ROW] * rows))
    assert response.status_code == 200, response.text
    answers = response.json()["predictions"]
    assert len(answers) == rows
    assert list(answers[0]) == ["priority:3", "priority:4", "constraint:5", "constraint:6", "constraint:7"]
    for task, labels in TASKS.items():
        assert sum(answers[-1][f"{task}:{label}"] for label in labels) == pytest.approx(1)


@pytest.mark.slow
def test_the_example_that_comes_with_the_model_is_a_request(address: str, folder: Path) -> None:
    assert _ask(address, (folder / "serving_input_example.json").read_text()).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (_table([ROW[:2]], FEATURES[:2]), "Model is missing inputs ['size of shoe']"),
        (_table([[*ROW, 4.0]]), "3 columns passed, passed data had 4 columns"),
        (json.dumps({"inputs": [[*ROW, 4.0]]}), "Model is missing inputs ['age', 'weight', 'size of shoe']"),
        (_table([ROW, [1.0, None, 3.0]]), "row 2: feature 'weight' is missing or not finite"),
        (_table([ROW]).replace("1.0", "NaN"), "row 1: feature 'age' is missing or not finite"),
        (_table([ROW]).replace("1.0", "1e999"), "row 1: feature 'age' is missing or not finite"),
        (_table([["old", 2.0, 3.0]]), "could not convert string to float: 'old'"),
        ("not JSON", "valid JSON"),
    ],
)
def test_a_bad_request_is_refused_with_a_reason(address: str, body: str, message: str) -> None:
    response = _ask(address, body)
    assert response.status_code == 400
    assert message in response.json()["message"]
