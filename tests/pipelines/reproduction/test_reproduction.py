"""Where two runs part, and which program a repetition runs."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from idbpd.errors import ConfigurationError
from idbpd.experiment.records.provenance import code_sha256
from idbpd.pipelines.reproduction.differences import first_difference, other_conditions
from idbpd.pipelines.reproduction.nodes import compare_with_record
from idbpd.pipelines.reproduction.program_copy import copy_program

RECORDED: dict[str, Any] = {
    "run_id": "abc",
    "data_sha256": "d" * 64,
    "code_sha256": "c" * 64,
    "threads": 2,
    "packages": "numpy==2.0\ntorch==2.13.0\n",
    "certificate": {"objective": 0.1, "tasks": {"limited": {"threshold": 0.5}}},
    "quality": {"test_first_hit_rate": 0.9},
    "weights": {"bias": torch.tensor([0.0, 1.0]), "trunk": torch.ones(2, 2)},
}
REPEATED = {**RECORDED, "origin": "the present code"}


def test_equal_runs_are_identical() -> None:
    assert first_difference(RECORDED, REPEATED) is None
    comparison = compare_with_record(RECORDED, REPEATED)
    assert (comparison["outcome"], comparison["exit_code"]) == ("IDENTICAL", 0)
    assert comparison["message"].startswith("IDENTICAL: 6 weights and all final metrics")


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"data_sha256": "e" * 64}, "the data have SHA-256 eeeeeeeeeeee, those of the run had dddddddddddd"),
        (
            {"weights": {**RECORDED["weights"], "bias": torch.tensor([-0.0, 1.0])}},
            "weight 0 of 'bias' is -0.0, it was 0.0",
        ),
        ({"weights": {"bias": RECORDED["weights"]["bias"]}}, "only one of the runs has weights 'trunk'"),
        (
            {"weights": {**RECORDED["weights"], "bias": torch.zeros(3)}},
            "weights 'bias' are float32 (3,), they were float32",
        ),
        (
            {"certificate": {"objective": 0.1, "tasks": {"limited": {"threshold": 0.5000000000000001}}}},
            "certificate.tasks.limited.threshold is 0.5000000000000001, it was 0.5",
        ),
        ({"quality": {}}, "quality.test_first_hit_rate is None, it was 0.9"),
    ],
)
def test_the_first_difference_is_named(changes: dict[str, Any], difference: str) -> None:
    comparison = compare_with_record(RECORDED, {**REPEATED, **changes})
    assert (comparison["outcome"], comparison["exit_code"]) == ("DIFFERENT", 4)
    assert comparison["difference"].startswith(difference)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"data_sha256": "e" * 64}, "other data"),
        ({"code_sha256": "f" * 64}, "other code (the present code)"),
        ({"threads": 4}, "other thread count (4, it was 2)"),
        (
            {"packages": "numpy==2.1\ntorch==2.13.0\nscipy==1.0\n"},
            "other library versions (numpy 2.0 -> 2.1, scipy absent -> 1.0)",
        ),
    ],
)
def test_each_changed_condition_is_named(changes: dict[str, Any], cause: str) -> None:
    assert other_conditions(RECORDED, {**REPEATED, **changes}) == [cause]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project with one commit, and a change since."""
    project = tmp_path / "project"
    for name, text in {
        "src/idbpd/a.py": "X = 1\n",
        "conf/base/parameters.yml": "seed: 0\n",
        "conf/local/parameters.yml": "seed: 5\n",
        "conf/local/sources.yml": "mine: {type: x}\n",
        "data/01_raw/mine.csv": "1,2\n",
        "data/06_models/weights": "theirs",
        "table.csv": "3,4\n",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / ".gitignore").write_text("data\nconf/local\ntable.csv\n")
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm first"):
        subprocess.run(["git", "-C", str(project), *command.split()], check=True)
    (project / "src/idbpd/a.py").write_text("X = 2\n")
    return project


def _copied(project: Path, target: Path, code: str, commit: str | None) -> tuple[str, str]:
    recorded = {"commit": commit, "code_sha256": code, "env": "local", "parameters": {"seed": 3}}
    origin = copy_program(project, recorded, target)
    return origin, (target / "src/idbpd/a.py").read_text()


def test_the_recorded_code_is_run_again(repository: Path, tmp_path: Path) -> None:
    commit = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    present = code_sha256(repository / "src/idbpd")
    origin, code = _copied(repository, tmp_path / "present", present, None)
    assert (origin, code) == ("the present code, which is the recorded one", "X = 2\n")
    committed = code_sha256(_committed(repository, tmp_path) / "src/idbpd")
    assert _copied(repository, tmp_path / "old", committed, commit) == (f"the code of commit {commit[:12]}", "X = 1\n")
    origin, code = _copied(repository, tmp_path / "dirty", "0" * 64, commit)
    assert origin.endswith("the run was made with changes that were not committed")
    assert code == "X = 1\n"
    origin, code = _copied(repository, tmp_path / "unknown", "0" * 64, "1" * 40)
    assert origin == "the present code: commit 111111111111 is not available here"
    assert code == "X = 2\n"


@pytest.mark.parametrize("folder", ["src", "conf"])
def test_a_project_without_its_source_code_is_told_what_is_missing(
    repository: Path, tmp_path: Path, folder: str
) -> None:
    shutil.rmtree(repository / folder)
    recorded: dict[str, Any] = {"commit": None, "code_sha256": "0" * 64, "env": "local", "parameters": {}}
    with pytest.raises(ConfigurationError, match=rf"{folder}.* is not there: a run is repeated by a copy"):
        copy_program(repository, recorded, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def _committed(repository: Path, tmp_path: Path) -> Path:
    package = tmp_path / "committed" / "src" / "idbpd"
    package.mkdir(parents=True)
    (package / "a.py").write_text("X = 1\n")
    return tmp_path / "committed"


def test_a_repetition_has_the_recorded_parameters_and_shares_no_results(repository: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    _copied(repository, target, code_sha256(repository / "src/idbpd"), None)
    assert yaml.safe_load((target / "conf/local/parameters.yml").read_text()) == {"seed": 3}
    assert yaml.safe_load((target / "conf/local/mlflow.yml").read_text()) == {"enabled": False}
    assert (target / "conf/local/sources.yml").read_text() == "mine: {type: x}\n"
    assert (target / "data/01_raw/mine.csv").read_text() == "1,2\n"
    assert (target / "table.csv").read_text() == "3,4\n"
    assert not (target / "data/06_models").exists()
    assert (repository / "conf/local/parameters.yml").read_text() == "seed: 5\n"
