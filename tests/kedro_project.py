"""A copy of the project in which a test runs Kedro: in this process, or in a process of its own as a user does."""

import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result
from kedro.framework.startup import bootstrap_project
from mlflow import MlflowClient
from mlflow.entities import Run

from idbpd.cli import cli

PROJECT = Path(__file__).parents[1]
# Variables that steer a run. A test that needs one of them says so.
STEERING = ("IDBPD_DATA", "IDBPD_EXECUTION", "MLFLOW_TRACKING_URI")
DATABASE = "data/09_tracking/mlflow.db"
SECONDS = 300.0


class KedroProject:
    """The program and its configuration in a folder of the test's own, so that the real project's data stay alone."""

    def __init__(self, path: Path) -> None:
        """Take the copy that is at ``path``."""
        self.path = path

    @classmethod
    def copied_to(cls, path: Path, database: Path | None = None) -> "KedroProject":
        """Copy the project, with its compiled code, which saves every process that starts in it the time to compile.

        With a database that has its tables already, the first run saves the time to make them.
        """
        ignored = shutil.ignore_patterns("*.egg-info", "local")
        for folder in ("src", "conf"):
            shutil.copytree(PROJECT / folder, path / folder, ignore=ignored)
        (path / "conf" / "local").mkdir()
        for file in ("pyproject.toml", "requirements.lock", ".telemetry"):
            shutil.copy(PROJECT / file, path)
        if database is not None:
            (path / DATABASE).parent.mkdir(parents=True)
            shutil.copy(database, path / DATABASE)
        return cls(path)

    @property
    def data(self) -> Path:
        """Where results are."""
        return self.path / "data"

    def configure(self, file: str, content: str | Mapping[str, Any]) -> None:
        """Write a file of ``conf/local``."""
        text = content if isinstance(content, str) else yaml.safe_dump(dict(content), sort_keys=False)
        (self.path / "conf" / "local" / file).write_text(text)

    def kedro(
        self,
        *arguments: str,
        params: str = "",
        exit_code: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command in this process, which saves the seconds that a new one needs to start; what it printed."""
        result = self.invoke(*arguments, params=params, environment=environment)
        if result.exit_code != exit_code:
            raise AssertionError(f"exit code {result.exit_code}:\n{result.output}") from result.exception
        return result.output

    def invoke(self, *arguments: str, params: str = "", environment: Mapping[str, str] | None = None) -> Result:
        """Run a command in this process, whatever its exit code will be."""
        with pytest.MonkeyPatch.context() as patch, _logged_to_output():
            patch.chdir(self.path)
            patch.setattr(sys, "argv", ["kedro", *_with_params(arguments, params)])  # a run tracks its command
            for name in STEERING:
                patch.delenv(name, raising=False)
            # With this set a command leaves the logging of this process alone.
            patch.setenv("KEDRO_LOGGING_CONFIG", str(self.path / "conf" / "logging.yml"))
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            return CliRunner().invoke(cli, _with_params(arguments, params), obj=bootstrap_project(self.path))

    def kedro_process(
        self,
        *arguments: str,
        params: str = "",
        exit_code: int = 0,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        module: str = "kedro",
    ) -> str:
        """Run a command in a process of its own, to its end; what it printed."""
        started = self.started(*arguments, params=params, environment=environment, cwd=cwd, module=module)
        with started as process:
            output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == exit_code, output
        return output

    @contextmanager
    def started(
        self,
        *arguments: str,
        params: str = "",
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        module: str = "kedro",
    ) -> Iterator[subprocess.Popen[str]]:
        """Start a command in a process of its own, for a test that does something to it; at the end it is gone."""
        inherited = {name: value for name, value in os.environ.items() if name not in STEERING}
        with _interruptible():
            process = subprocess.Popen(
                [sys.executable, "-m", module, *_with_params(arguments, params)],
                cwd=cwd or self.path,
                env={**inherited, "PYTHONPATH": str(self.path / "src"), **(environment or {})},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def tracked_runs(self) -> tuple[MlflowClient, list[Run]]:
        """What was tracked in the project's own store, in the order in which it began."""
        client = MlflowClient(f"sqlite:///{self.path / DATABASE}")
        experiment = client.get_experiment_by_name("idbpd")
        assert experiment is not None
        return client, list(client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"]))


def read_until(process: subprocess.Popen[str], start: str) -> str:
    """Read what a process prints until a line starts with this; all that it printed so far."""
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith(start):
            return printed
    raise AssertionError(f"no line starts with {start!r}:\n{printed}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Processes that start in here obey Ctrl-C. A script lets what it starts in the background ignore it, and children
    inherit that; a handler of our own is not inherited.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _with_params(arguments: tuple[str, ...], params: str) -> list[str]:
    return [*arguments, "--params", params] if params else list(arguments)


class _Echo(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record))


@contextmanager
def _logged_to_output() -> Iterator[None]:
    """Print what the project logs, as its own logging configuration does."""
    logger, echo = logging.getLogger("idbpd"), _Echo()
    level = logger.level
    logger.addHandler(echo)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(echo)
        logger.setLevel(level)
