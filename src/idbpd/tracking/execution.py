"""Facts about an execution that are needed to repeat it."""

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

import torch
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_SOURCE_NAME

from idbpd.experiment.records.execution import command_line, commit_of
from idbpd.experiment.records.provenance import code_sha256, installed_packages, lock_sha256


def execution_tags(project: Path) -> dict[str, str]:
    """The command, the code, the libraries and the machine, as tags of a run.

    ``mlflow.source.git.commit`` and ``git.dirty`` need a git repository, ``lock_sha256`` needs a lock file.
    """
    command = command_line()
    tags = {
        "command": command,
        MLFLOW_SOURCE_NAME: command,  # MLflow's list of runs has a column for it
        **_git_tags(project),
        "code_sha256": code_sha256(),
        "packages_sha256": hashlib.sha256(installed_packages().encode()).hexdigest(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "platform": platform.platform(),
        "threads": str(torch.get_num_threads()),
    }
    lock = lock_sha256(project)
    return tags if lock is None else {**tags, "lock_sha256": lock}


def _git_tags(project: Path) -> dict[str, str]:
    """The commit, and whether the work tree differs from it; empty without a repository or git."""
    commit = commit_of(project)
    return {} if commit is None else {MLFLOW_GIT_COMMIT: commit.sha, "git.dirty": str(commit.dirty).lower()}
