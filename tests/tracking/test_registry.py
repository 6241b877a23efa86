"""What the registry knows after retrainings, and the commands that show and undo them."""

import json
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
import torch
from kedro.io import DatasetError
from mlflow import MlflowClient

from idbpd.errors import ConfigurationError
from idbpd.tracking import ChampionDataset, RetrainingDataset, TrackedDataset, TrackedModelDataset
from idbpd.tracking.champion import Champion
from idbpd.tracking.journal import Journal
from idbpd.tracking.registry import last_judged, make_champion, register, registered_name, versions
from idbpd.tracking.runs import child_run
from idbpd.tracking.store import URI_VARIABLE, Store
from tests.kedro_project import KedroProject
from tests.tracking.conftest import RUN
from tests.tracking.exported import model_of_numbers

NAME = "idbpd-yeast"
CERTIFICATE = {"status": "CONVERGED", "objective": 0.5, "constraint": -0.1, "stationarity": 1e-4, "held_out": None}


class Retrainings:
    """A project's registry, and what a retraining pipeline hands to it."""

    def __init__(self, folder: Path) -> None:
        self.model = TrackedModelDataset(filepath=str(folder / "model"), run=RUN)
        config = {"type": "json.JSONDataset", "filepath": str(folder / "retraining.json")}
        self.outcome = RetrainingDataset(dataset=config, run=RUN)

    def train(self) -> str:
        self.model.save(model_of_numbers(("u", "v"), {"first": ("a", "b"), "other": ("c", "d")}))
        return str(self.model.load())

    def conclude(self, *, passed: bool, champion: int | None, yardstick: int | None = None) -> dict[str, Any]:
        note = "is not close to a KKT point (worst of all: 0.5)"
        gate = {"gate": "residual", "value": 0.5, "limit": 0.01, "passed": passed, "note": note}
        verdict = {"passed": passed, "champion": champion, "gates": [gate], "why": [note], "yardstick": yardstick}
        fingerprints = {"data": "d", "parameters": "p", "code": "c", "lock": "l"}
        self.outcome.save(
            {"verdict": verdict, "model_id": self.train(), "certificate": CERTIFICATE, "fingerprints": fingerprints}
        )
        content: dict[str, Any] = self.outcome.load()
        return content


@pytest.fixture
def retrainings(journal: Journal, tmp_path: Path) -> Retrainings:
    return Retrainings(tmp_path)


def _aliases() -> dict[str, int]:
    return {name: int(version) for name, version in MlflowClient().get_registered_model(NAME).aliases.items()}


def test_a_promoted_model_is_the_champion_and_a_rejected_one_is_not(retrainings: Retrainings, journal: Journal) -> None:
    assert versions(NAME) == []
    first = retrainings.conclude(passed=True, champion=None)
    assert (first["outcome"], first["exit_code"], first["version"], first["champion"]) == ("promoted", 0, 1, 1)
    second = retrainings.conclude(passed=False, champion=1)
    assert (second["outcome"], second["exit_code"], second["version"], second["champion"]) == ("rejected", 3, 2, 1)
    assert second["message"] == (
        "rejected: version 2 of idbpd-yeast is not close to a KKT point (worst of all: 0.5); version 1 stays the "
        "champion"
    )
    assert _aliases() == {"champion": 1, "challenger": 2}
    newest = versions(NAME)[0]
    assert newest.verdict == "rejected"
    assert newest.tags["gate.residual"] == (
        "FAILED: 0.5, at most 0.01: it is not close to a KKT point (worst of all: 0.5)"
    )
    assert newest.tags["certificate.objective"] == "0.5"
    assert "model_sha256" in newest.tags
    assert newest.fingerprints == {"data": "d", "parameters": "p", "code": "c", "lock": "l"}
    run = MlflowClient().get_run(str(child_run(RUN)))
    assert run.data.tags["retraining"] == "rejected"


def test_a_version_without_a_verdict_was_not_tried(retrainings: Retrainings) -> None:
    retrainings.conclude(passed=True, champion=None)
    register(NAME, retrainings.train(), str(child_run(RUN)), {})  # and then the machine went down
    last = last_judged(NAME)
    assert last is not None
    assert last.number == 1
    assert versions(NAME)[0].verdict == "unfinished"
    assert _aliases()["champion"] == 1


def test_a_model_replaces_only_the_champion_it_was_compared_with(retrainings: Retrainings) -> None:
    retrainings.conclude(passed=True, champion=None)
    retrainings.conclude(passed=True, champion=1)
    with pytest.raises(
        ConfigurationError, match="was version 1 when the new model was compared with it, but is now version 2"
    ):
        make_champion(NAME, 1, instead_of=1)
    with pytest.raises(Exception, match="nothing was promoted: retrain again"):
        retrainings.conclude(passed=True, champion=None)
    assert _aliases() == {"champion": 2, "challenger": 3}


def test_the_champion_is_loaded_as_it_is_served(retrainings: Retrainings) -> None:
    assert ChampionDataset(dataset="yeast").load() is None
    retrainings.conclude(passed=True, champion=None)
    champion = ChampionDataset(dataset="yeast").load()
    assert champion is not None
    assert (champion.version, champion.columns) == (1, ("u", "v"))
    assert champion.kinds == {"first": "distribution", "other": "distribution"}
    answer = champion.answers(pd.DataFrame({"u": [0.0], "v": [1.0]}))
    assert list(answer.columns) == ["first:a", "first:b", "other:c", "other:d", "replaced"]


class Command:
    """A command about the registered models, on the store of the test."""

    def __init__(self, project: KedroProject, store: Store) -> None:
        self.project = project
        self.environment = {URI_VARIABLE: store.uri}

    def __call__(self, *arguments: str, exit_code: int = 0) -> str:
        command = (*arguments, "--dataset", "yeast")
        return self.project.kedro(*command, environment=self.environment, exit_code=exit_code)


@pytest.fixture
def command(project: KedroProject, store: Store) -> Command:
    return Command(project, store)


def test_versions_are_listed_with_certificate_and_date_and_the_champion_goes_back(
    command: Command, retrainings: Retrainings
) -> None:
    assert "no model is registered as idbpd-yeast" in command("models", exit_code=1)
    for passed, champion in ((True, None), (False, 1), (True, 1)):
        retrainings.conclude(passed=passed, champion=champion)
    shown = command("models")
    rows = [line.split("│")[1:] for line in shown.splitlines() if "CONVERGED" in line]
    assert [[cell.strip() for cell in row][:2] for row in rows] == [["3", "champion"], ["2", ""], ["1", ""]]
    assert all("0.5000" in row[4] for row in rows)
    assert "residual" in rows[1][8]
    assert command("rollback").strip() == "version 1 of idbpd-yeast is the champion; version 3 was"
    assert _aliases()["champion"] == 1
    command("rollback", "--to", "3")
    assert _aliases()["champion"] == 3


def test_an_impossible_rollback_is_refused(command: Command, retrainings: Retrainings) -> None:
    retrainings.conclude(passed=True, champion=None)
    retrainings.conclude(passed=False, champion=1)
    for to, message in (
        (["--to", "9"], "version 9 of idbpd-yeast was never the champion; former champions: none"),
        (["--to", "2"], "version 2 of idbpd-yeast was never the champion; former champions: none"),
        (["--to", "1"], "version 1 of idbpd-yeast is already the champion; other former champions: none"),
        ([], "version 1 of idbpd-yeast is the first champion; there is no earlier one"),
    ):
        assert message in command("rollback", *to, exit_code=1)
        assert _aliases()["champion"] == 1


def test_an_altered_model_is_neither_restored_nor_compared_with(command: Command, retrainings: Retrainings) -> None:
    retrainings.conclude(passed=True, champion=None)
    retrainings.conclude(passed=True, champion=1)
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=f"models:/{registered_name('yeast')}/1"))
    weights = next(folder.rglob("weights.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert "was altered after the model was logged" in command("rollback", exit_code=1)
    assert _aliases()["champion"] == 2
    MlflowClient().set_registered_model_alias(NAME, "champion", "1")
    with pytest.raises(DatasetError, match="was altered"):
        ChampionDataset(dataset="yeast").load()


def test_the_outcome_is_written_to_a_file_for_other_programs(retrainings: Retrainings, tmp_path: Path) -> None:
    retrainings.conclude(passed=True, champion=None)
    record = json.loads((tmp_path / "retraining.json").read_text())
    assert {"outcome", "exit_code", "message", "dataset", "at", "model", "version", "champion", "gates"} <= set(record)


def test_the_champion_knows_the_rows_it_was_trained_on(retrainings: Retrainings, tmp_path: Path) -> None:
    retrainings.conclude(passed=True, champion=None)
    champion = ChampionDataset(dataset="yeast").load()
    assert champion is not None
    assert champion.seen_rows is None  # as of versions from before rows were marked
    config = {"type": "idbpd.datasets.TensorsDataset", "filepath": str(tmp_path / "seen_rows.safetensors")}
    TrackedDataset(dataset=config, run=RUN).save({"marks": torch.tensor([-3, 5]), "columns": torch.tensor([7])})
    champion = ChampionDataset(dataset="yeast").load()
    assert champion is not None
    assert champion.seen_rows is not None
    assert champion.seen_rows["marks"].tolist() == [-3, 5]


def test_the_yardstick_stays_until_a_version_takes_its_place(
    retrainings: Retrainings, command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    def champion() -> Champion:
        found = ChampionDataset(dataset="yeast").load()
        assert found is not None
        return found

    retrainings.conclude(passed=True, champion=None)
    assert (champion().version, champion().yardstick) == (1, None)
    retrainings.conclude(passed=True, champion=1, yardstick=1)
    retrainings.conclude(passed=True, champion=2, yardstick=1)
    yardstick = champion().yardstick
    assert (champion().version, yardstick and yardstick.version) == (3, 1)
    retrainings.conclude(passed=False, champion=3, yardstick=None)
    assert "yardstick" not in versions(NAME)[0].tags
    retrainings.conclude(passed=True, champion=3)
    assert (champion().version, champion().yardstick) == (5, None)
    command("rollback", "--to", "3")  # and with the version its yardstick comes back
    yardstick = champion().yardstick
    assert (champion().version, yardstick and yardstick.version) == (3, 1)
    MlflowClient().delete_model_version(NAME, "1")
    assert champion().yardstick is None
    assert "version 1 of idbpd-yeast, by which models are measured, is not registered any more" in caplog.text


def test_the_record_and_the_message_say_why(retrainings: Retrainings) -> None:
    first = retrainings.conclude(passed=True, champion=None)
    assert first["message"] == (
        "promoted: version 1 of idbpd-yeast is the champion; it is not close to a KKT point (worst of all: 0.5)"
    )
    second = retrainings.conclude(passed=False, champion=1)
    assert second["why"] == ["it is not close to a KKT point (worst of all: 0.5)"]
