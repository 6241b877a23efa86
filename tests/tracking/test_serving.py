"""``mlflow models serve`` with an exported model: answers to raw rows, and refusals with a reason."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from idbpd.tracking import TrackedModelDataset
from tests.tracking.exported import MIXED, mixed_model
from tests.tracking.server import free_port, wait_for

# One worker for all of them: they ask one server.
pytestmark = pytest.mark.xdist_group("serving")

COLUMNS = ["age", "work", "income", "plan", "joined", "seen"]
ROW = [30, "Private", 0.5, "yes", "2021-02-03", "2021-02-03T04:30:00"]
ANSWERS = [*(name for task in MIXED for name in task.columns), "replaced"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "model"
    TrackedModelDataset(filepath=str(path), run={}).save(mixed_model())
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


def _table(rows: list[list[Any]], columns: list[str] = COLUMNS) -> str:
    return json.dumps({"dataframe_split": {"columns": columns, "data": rows}})


def _records(*rows: dict[str, Any]) -> str:
    return json.dumps({"dataframe_records": rows})


def _answers(address: str, body: str) -> list[dict[str, Any]]:
    response = _ask(address, body)
    assert response.status_code == 200, response.text
    answers: list[dict[str, Any]] = response.json()["predictions"]
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 1000])
def test_it_answers_raw_rows_in_the_words_of_every_task(address: str, rows: int) -> None:
    answers = _answers(address, _table([ROW] * rows))
    assert len(answers) == rows
    assert list(answers[-1]) == ANSWERS
    assert answers[-1]["income"] in (">50K", "<=50K")
    assert answers[-1]["plan"] in ("basic", "gold", "none")
    assert sum(answers[-1][f"plan:{name}"] for name in ("basic", "gold", "none")) == pytest.approx(1)
    assert 900 < answers[-1]["spend"] < 1100
    assert answers[-1]["replaced"] == ""


@pytest.mark.slow
def test_the_example_that_comes_with_the_model_is_a_request(address: str, folder: Path) -> None:
    assert len(_answers(address, (folder / "serving_input_example.json").read_text())) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, ""),
        ({"age": 30.0}, ""),
        ({"age": " 30"}, ""),
        ({"plan": True}, ""),
        ({"work": None}, ""),  # was missing in training too
        ({"age": None}, "age missing, "),
        ({"age": "?"}, "age missing, "),
        ({"age": "old"}, "age 'old' not usable, "),
        ({"work": "Alien"}, "work 'Alien' unknown"),
        ({"work": 12}, "work '12' unknown"),
        ({"plan": None}, "plan missing"),
        ({"joined": "soon"}, "joined 'soon' not usable, "),
        ({"age": [1, 2]}, "age [1, 2] not usable, "),
    ],
)
def test_any_value_is_answered_and_what_was_replaced_is_told(address: str, changes: dict[str, Any], told: str) -> None:
    row = dict(zip(COLUMNS, ROW, strict=True))
    usual, changed = _answers(address, _records(row, row | changes))
    assert usual["replaced"] == ""
    assert changed["replaced"].startswith(told)
    assert bool(changed["replaced"]) == bool(told)
    if not told and changes != {"work": None}:
        assert changed["spend"] == pytest.approx(usual["spend"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dataframe_records", "inputs", "instances"])
def test_columns_may_be_away_in_some_rows_or_in_all_and_others_are_ignored(address: str, kind: str) -> None:
    rows: list[dict[str, Any]] = [{"plan": "yes", "id": 7, "more": "x"}, {"plan": "no", "id": None, "age": 3}]
    if kind == "instances":  # in this form MLflow wants the same keys in every row
        rows = [{"age": None, "more": None} | row for row in rows]
    first, second = _answers(address, json.dumps({kind: rows}))
    assert list(first) == ["id", *ANSWERS]
    assert (first["id"], second["id"]) == (7, None)
    assert "age missing, " in first["replaced"]
    assert "age" not in second["replaced"]
    assert "income missing, " in second["replaced"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            _records({"other": 1}),
            "none of the model's columns is given; it takes age, work, income, plan, joined, seen",
        ),
        (json.dumps({"inputs": [ROW]}), "none of the model's columns is given"),
        (_table([[*ROW, 4.0]]), "6 columns passed, passed data had 7 columns"),
        ("not JSON", "valid JSON"),
    ],
)
def test_a_request_without_any_column_is_refused_with_a_reason(address: str, body: str, message: str) -> None:
    response = _ask(address, body)
    assert response.status_code == 400
    assert message in response.json()["message"]
