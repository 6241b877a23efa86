"""What an execution runs on: all that somebody needs to repeat it."""

import hashlib
import platform
import shlex
import subprocess
import sys
from importlib.metadata import distributions, version
from pathlib import Path

import torch
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT

import idbpd

LOCK = "requirements.lock"


def execution_tags(project: Path) -> dict[str, str]:
    """The command, the code, the libraries and the machine, as tags of a run.

    ``mlflow.source.git.commit`` and ``git.dirty`` are there in a git repository, ``lock_sha256`` where there is a lock.
    """
    tags = {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        **_git_tags(project),
        "code_sha256": code_sha256(),
        "packages_sha256": hashlib.sha256(installed_packages().encode()).hexdigest(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "platform": platform.platform(),
        "threads": str(torch.get_num_threads()),
    }
    if (project / LOCK).is_file():
        tags["lock_sha256"] = hashlib.sha256((project / LOCK).read_bytes()).hexdigest()
    return tags


def code_sha256() -> str:
    """SHA-256 of this package's Python files: tells what ran where the work tree differs from its commit."""
    root = Path(idbpd.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def installed_packages() -> str:
    """The environment, a line ``name==version`` for each package.

    Not by ``pip freeze``, which shows the address that a package came from, with what stands in it.
    """
    found = {distribution.name.lower(): distribution.version for distribution in distributions()}
    return "".join(f"{name}=={number}\n" for name, number in sorted(found.items()))


def _git_tags(project: Path) -> dict[str, str]:
    """The commit and whether the work tree differs from it; nothing where there is no repository or no git."""
    try:
        commit = _git(project, "rev-parse", "HEAD")
        dirty = bool(_git(project, "status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {MLFLOW_GIT_COMMIT: commit, "git.dirty": str(dirty).lower()}


def _git(project: Path, *arguments: str) -> str:
    command = ["git", "-C", str(project), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
