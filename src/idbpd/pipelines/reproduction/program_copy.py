"""A copy of the project with the code of a recorded run, its parameters, and no results."""

import io
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import yaml

from idbpd.errors import ConfigurationError
from idbpd.experiment.records.provenance import code_sha256

# What a repetition must not share with the project: results, code, configuration and git history.
NOT_SHARED = {".git", "data", "conf", "src"}
RAW_DATA = Path("data/01_raw")
PROGRAM = Path("src", "idbpd")


def copy_program(project: Path, recorded: dict[str, Any], target: Path) -> str:
    """Make ``target`` a project that repeats the recorded run, and say where its code is from.

    The code is the present one if its digest is the recorded one, else that of the recorded commit, else the present
    one all the same. Everything else in the project's folder is linked: data files may be anywhere there.
    """
    for folder in (PROGRAM, Path("conf")):
        if not (project / folder).is_dir():
            raise ConfigurationError(
                f"{project / folder} is not there: a run is repeated by a copy of the project and its source code. "
                "Call reproduce in a clone of the project, not where the package alone is installed"
            )
    origin = _copy_code(project, recorded, target)
    for path in project.iterdir():
        if path.name not in NOT_SHARED and not (target / path.name).exists():
            (target / path.name).symlink_to(path)
    local = project / "conf" / "local"
    if local.is_dir():
        shutil.copytree(local, target / "conf" / "local", dirs_exist_ok=True)
    raw = target / RAW_DATA
    shutil.rmtree(raw, ignore_errors=True)
    raw.parent.mkdir(parents=True, exist_ok=True)
    raw.symlink_to(project / RAW_DATA)
    _write_configuration(target / "conf" / recorded["env"], recorded["parameters"])
    return origin


def _copy_code(project: Path, recorded: dict[str, Any], target: Path) -> str:
    commit, code = recorded["commit"], recorded["code_sha256"]
    if code_sha256(project / PROGRAM) == code:
        _copy_present(project, target)
        return "the present code, which is the recorded one"
    archive = _archive(project, commit) if commit else None
    if archive is None:
        _copy_present(project, target)
        return (
            f"the present code: {'commit ' + commit[:12] if commit else 'the commit of the run'} is not available here"
        )
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(target, filter="data")
    if code_sha256(target / PROGRAM) == code:
        return f"the code of commit {commit[:12]}"
    return f"the code of commit {commit[:12]}; the run was made with changes that were not committed"


def _copy_present(project: Path, target: Path) -> None:
    for folder in ("src", "conf"):
        shutil.copytree(project / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))


def _archive(project: Path, commit: str) -> bytes | None:
    """The files of a commit; None without git, or where it does not know the commit."""
    try:
        return subprocess.run(
            ["git", "-C", str(project), "archive", "--format=tar", commit], check=True, capture_output=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def _write_configuration(folder: Path, parameters: dict[str, Any]) -> None:
    """Write the recorded parameters in place of the present ones, and switch tracking off."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in [*folder.glob("parameters*"), *folder.glob("mlflow*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "parameters.yml").write_text(yaml.safe_dump(parameters), encoding="utf-8")
    (folder / "mlflow.yml").write_text("enabled: false\n", encoding="utf-8")
