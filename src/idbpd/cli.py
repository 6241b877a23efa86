"""``kedro run`` as users of this project meet it: the standard command, with errors of the input told in one line."""

import functools
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml
from kedro.config import MissingConfigException
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import LOGGING, pipelines
from kedro.framework.startup import ProjectMetadata

import idbpd.settings  # noqa: F401 - turns telemetry off before any plugin looks
from idbpd.errors import ConfigurationError, InputError


@click.group(name="idbpd")
def cli() -> None:
    """Commands of this project."""


def _one_line_errors(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run(**options: Any) -> Any:
        _configure_logging(click.get_current_context().obj)
        if options["pipeline"] and not options["pipelines"]:
            # Both spellings are ours to document; Kedro warns about the shorter one at every run.
            options["pipelines"], options["pipeline"] = [options["pipeline"]], None
        try:
            _require_pipelines(options["pipelines"])
            return callback(**options)
        except Exception as error:
            for cause in _chain(error):
                if isinstance(cause, InputError | MissingConfigException):
                    logging.getLogger("kedro").debug("full error", exc_info=error)
                    raise click.ClickException(str(cause)) from error
            raise

    return run


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from: Kedro wraps what a node or a dataset raises."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _require_pipelines(names: Iterable[str]) -> None:
    for name in names:
        if name not in pipelines:
            known = ", ".join(sorted(pipelines.keys()))
            raise ConfigurationError(f"unknown pipeline {name!r}; known pipelines are {known}")


def _configure_logging(metadata: ProjectMetadata | None) -> None:
    """Use the project's logging file from any of its folders; Kedro looks for it in the working directory only."""
    path = (metadata.project_path if metadata else Path()) / "conf" / "logging.yml"
    if "KEDRO_LOGGING_CONFIG" not in os.environ and path.is_file():
        LOGGING.configure(yaml.safe_load(path.read_text(encoding="utf-8")))


assert kedro_run.callback is not None  # it is a command made from a function
cli.add_command(
    click.Command("run", params=kedro_run.params, callback=_one_line_errors(kedro_run.callback), help=kedro_run.help)
)
