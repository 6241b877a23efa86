"""A week of nightly retrainings in two minutes, on a small table of its own: what is promoted, and what is not.

Run it with ``python benchmarks/retraining_story.py``. It works in a temporary copy of the project, prints one line per
night, and ends with an error at the first night that does not end as it should. The test suite runs it too.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import yaml
from mlflow import MlflowClient

PROJECT = Path(__file__).parents[1]
MODEL = "idbpd-clinic"
CONFIGURATION = {
    "globals.yml": {"dataset": "clinic"},
    "sources.yml": {
        "clinic": {
            "type": "idbpd.datasets.TabularDataset",
            "filepath": "data/01_raw/clinic.csv",
            "tasks": {"diagnosis": ["ill", "well"], "triage": ["urgent", "calm"]},
        }
    },
    "parameters.yml": {
        "model": {"hidden": 4},
        "problem": {"lambda": 1.0, "weight_decay": 0.01},
        "calibration": {"max_steps": 300, "slack": 0.5, "reserve": 0.5},
        "training": {"max_steps": 300},
    },
}


class Night(NamedTuple):
    """What happened, how the command ended, what it said last, and who was the champion in the morning."""

    what: str
    exit_code: int
    said: str
    champion: int | None
    seconds: float


class Ended(NamedTuple):
    """How a Kedro command ended."""

    exit_code: int
    output: str


# How to run a Kedro command in a folder, with these variables.
Run: TypeAlias = Callable[[Path, Sequence[str], Mapping[str, str]], Ended]
# One thread: as many as any machine has, so that the story is the same everywhere.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@contextmanager
def started(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A Kedro command in a process of its own."""
    unset = ("MLFLOW_TRACKING_URI", "IDBPD_EXECUTION", "IDBPD_DATA")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"PYTHONPATH": str(folder / "src"), **variables}
    command = [sys.executable, "-m", "kedro", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        yield process


def run_in_a_process(folder: Path, arguments: Sequence[str], variables: Mapping[str, str]) -> Ended:
    """Run a Kedro command as a scheduler does."""
    with started(folder, arguments, variables) as process:
        output, _ = process.communicate(timeout=300)
    return Ended(process.returncode, output)


class Clinic:
    """A copy of the project whose data come from a clinic that does not always deliver what it should."""

    def __init__(self, folder: Path, run: Run) -> None:
        """Copy the program, not the results."""
        self.folder = folder
        self._run = run
        ignored = shutil.ignore_patterns("*.egg-info", "local")
        for part in ("src", "conf"):
            shutil.copytree(PROJECT / part, folder / part, ignore=ignored)
        for file in ("pyproject.toml", "requirements.lock", ".telemetry"):
            shutil.copy(PROJECT / file, folder)
        (folder / "conf" / "local").mkdir()
        for name, content in CONFIGURATION.items():
            (folder / "conf" / "local" / name).write_text(yaml.safe_dump(content), encoding="utf-8")

    def deliver(self, patients: int) -> None:
        """A table in which two measurements say, not quite surely, what is the case; the same patients come first."""
        drawn = np.random.default_rng(0).normal(size=(patients, 6))
        ill, urgent = drawn[:, 0] + 0.5 * drawn[:, 4] > 0, drawn[:, 1] + 0.5 * drawn[:, 5] > 0
        columns = {f"measured_{at}": drawn[:, at].round(4) for at in range(4)}
        labels = {"ill": ill, "well": ~ill, "urgent": urgent, "calm": ~urgent}
        path = self.folder / "data" / "01_raw" / "clinic.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({**columns, **{name: label.astype(int) for name, label in labels.items()}}).to_csv(
            path, index=False
        )

    def alter_one_number(self) -> None:
        """What a disk, or a person, may do to a file."""
        path = self.folder / "data" / "01_raw" / "clinic.csv"
        table = pd.read_csv(path)
        table.loc[7, "measured_2"] = 0.1234
        table.to_csv(path, index=False)

    def night(self, what: str, *arguments: str) -> Night:
        """Run a command to its end."""
        begin = time.perf_counter()
        exit_code, output = self._run(self.folder, arguments, ENVIRONMENT)
        lines = [line for line in output.splitlines() if line.strip()]
        return Night(what, exit_code, lines[-1], self.champion, time.perf_counter() - begin)

    def killed_night(self, what: str, *arguments: str, at: str) -> Night:
        """Run a command and kill it, without a chance to clean up, when it says ``at``."""
        begin = time.perf_counter()
        with started(self.folder, arguments, ENVIRONMENT) as process:
            assert process.stdout is not None
            said = next(line for line in process.stdout if at in line)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        return Night(what, process.returncode, said.strip(), self.champion, time.perf_counter() - begin)

    @property
    def store(self) -> MlflowClient:
        """What the copy has tracked."""
        return MlflowClient(f"sqlite:///{self.folder / 'data/09_tracking/mlflow.db'}")

    @property
    def champion(self) -> int | None:
        """The version in use."""
        version = self.store.get_registered_model(MODEL).aliases.get("champion")
        return None if version is None else int(version)

    @property
    def outcome(self) -> dict[str, Any]:
        """What a scheduler reads."""
        content: dict[str, Any] = json.loads((self.folder / "data/08_reporting/clinic/retraining.json").read_text())
        return content

    @property
    def statuses(self) -> list[str]:
        """How the executions ended, the oldest first."""
        experiment = self.store.get_experiment_by_name("idbpd")
        assert experiment is not None
        runs = self.store.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])
        return [run.info.status for run in runs if "mlflow.parentRunId" not in run.data.tags]


def tell(folder: Path, show: Callable[[Night], None], run: Run = run_in_a_process) -> None:
    """All nights; an `AssertionError` at the first that does not end as it should."""
    clinic = Clinic(folder, run)

    def expect(night: Night, exit_code: int, said: str, champion: int, outcome: str | None = None) -> None:
        show(night)
        assert (night.exit_code, night.champion) == (exit_code, champion), night
        assert said in night.said, night
        assert outcome is None or clinic.outcome["outcome"] == outcome, clinic.outcome

    retrain = ("run", "--pipeline", "retrain")
    clinic.deliver(1000)
    expect(clinic.night("the first", *retrain), 0, f"promoted: version 1 of {MODEL}", 1, "promoted")
    expect(clinic.night("nothing new", *retrain), 0, "unchanged: ", 1, "unchanged")
    clinic.deliver(50)
    expect(clinic.night("most of the data lost", *retrain), 3, f"rejected: version 2 of {MODEL}", 1, "rejected")
    clinic.deliver(1200)
    killed = clinic.killed_night("killed", *retrain, at="the triage task alone reaches")
    expect(killed, -signal.SIGKILL, "its threshold is", 1, "running")
    expect(clinic.night("the same again", *retrain), 0, "promoted: version 3", 3, "promoted")
    assert clinic.statuses == ["FINISHED", "FINISHED", "KILLED", "FINISHED"], clinic.statuses
    champion = clinic.outcome["run_id"]
    reproduce = ("run", "--pipeline", "reproduce", "--params", f"run_id={champion}")
    expect(clinic.night("reproduce the champion", *reproduce), 0, "IDENTICAL: ", 3)
    clinic.alter_one_number()
    expect(clinic.night("reproduce it on other data", *reproduce), 4, "likely cause: other data", 3)


def main() -> None:
    """Tell the story in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="idbpd-story-") as folder:
        tell(
            Path(folder) / "project",
            lambda night: print(
                f"{night.what}: exit code {night.exit_code}, champion {night.champion}, {night.seconds:.0f} s\n"
                f"    {night.said}",
                flush=True,
            ),
        )


if __name__ == "__main__":
    main()
