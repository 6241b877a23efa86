"""The command and the commit of an execution."""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# Options of kedro run that decide what is computed, and not which part of it.
DECIDING = {
    "--params",
    "--env",
    "-e",
    "--pipeline",
    "-p",
    "--pipelines",
    "--config",
    "-c",
    "--conf-source",
    "--runner",
    "-r",
}


class Commit(NamedTuple):
    """A commit, and whether the work tree differs from it."""

    sha: str
    dirty: bool


def command_line() -> str:
    """The command of this process, as it was typed."""
    return f"{Path(sys.argv[0]).name} {shlex.join(sys.argv[1:])}".strip()


def whole_command(arguments: Sequence[str]) -> str:
    """The command that repeats the whole run: these arguments without those that select some of its nodes.

    >>> whole_command(["run", "--params", "dataset=chd49", "--from-nodes=report", "-e", "paper"])
    'kedro run --params dataset=chd49 -e paper'
    """
    kept: list[str] = []
    at = 0
    while at < len(arguments):
        option, equals, _ = arguments[at].partition("=")
        size = 1 if equals else 2
        if option in DECIDING:
            kept += arguments[at : at + size]
        at += size if option.startswith("-") else 1
    return shlex.join(["kedro", "run", *kept])


def commit_of(project: Path) -> Commit | None:
    """The commit of a project; None without a repository or git."""
    try:
        return Commit(_git(project, "rev-parse", "HEAD"), bool(_git(project, "status", "--porcelain")))
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(project: Path, *arguments: str) -> str:
    command = ["git", "-C", str(project), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
