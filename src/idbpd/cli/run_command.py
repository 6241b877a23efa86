"""``kedro run`` as users of this project meet it: the standard command, with errors of the input told in one line."""

import functools
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import yaml
from kedro.config import MissingConfigException
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import LOGGING, pipelines
from kedro.framework.startup import ProjectMetadata
from kedro.io import AbstractDataset, DatasetError

import idbpd.settings  # noqa: F401 - turns telemetry off before any plugin looks
from idbpd.errors import ConfigurationError, InputError
from idbpd.exit_codes import NothingToDo
from idbpd.tracking.redaction import print_redacted, redact

# Errors of others that are about what was given as well: a file that is not there, or that cannot be parsed.
FAULTS_OF_THE_INPUT = (InputError, MissingConfigException, yaml.YAMLError, DatasetError)


# Outputs of a pipeline whose content says how the command ends: "message" and "exit_code".
CONCLUSIONS = ("retraining", "reproduction")


def _one_line_errors(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run_or_explain(**options: Any) -> Any:
        metadata: ProjectMetadata | None = click.get_current_context().obj
        configure_logging(metadata, options["conf_source"])
        if options["pipeline"] and not options["pipelines"]:
            # Both spellings are ours to document; Kedro warns about the shorter one at every run.
            options["pipelines"], options["pipeline"] = [options["pipeline"]], None
        try:
            _require_pipelines(options["pipelines"])
            result = callback(**options)
        except NothingToDo as reason:
            click.echo(str(reason))
            return None
        except Exception as error:
            line = explanation(error)
            if line is None:
                sys.excepthook = print_redacted
                raise
            logging.getLogger("kedro").debug("full error", exc_info=error)
            raise click.ClickException(line) from error
        _end_as_recorded(result)
        return result

    return run_or_explain


def _end_as_recorded(result: Mapping[str, AbstractDataset[Any, Any]]) -> None:
    """End with the exit code of what came out, where a pipeline came to a conclusion rather than to files alone."""
    for name in CONCLUSIONS:
        if name in result:
            conclusion = result[name].load()
            click.echo(conclusion["message"])
            if conclusion["exit_code"]:
                raise click.exceptions.Exit(conclusion["exit_code"])


def explanation(error: BaseException) -> str | None:
    """The error of the input that ``error`` came from, in one line; None where it is not the input's fault."""
    faults = [cause for cause in _chain(error) if isinstance(cause, FAULTS_OF_THE_INPUT)]
    # Kedro wraps what a node or a dataset raises; what we said ourselves says it best.
    best = next((fault for fault in faults if isinstance(fault, InputError)), faults[0] if faults else None)
    return None if best is None else redact(" ".join(str(best).split()))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from; an error raised again from its own wrapper makes a ring."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _require_pipelines(names: Iterable[str]) -> None:
    for name in names:
        if name not in pipelines:
            known = ", ".join(sorted(pipelines.keys()))
            raise ConfigurationError(f"unknown pipeline {name!r}; known pipelines are {known}")


def configure_logging(metadata: ProjectMetadata | None, conf_source: str | None) -> None:
    """Use the project's logging file from any of its folders; Kedro looks for it in the working directory only."""
    folder = Path(conf_source) if conf_source else (metadata.project_path if metadata else Path()) / "conf"
    path = folder / "logging.yml"
    if "KEDRO_LOGGING_CONFIG" not in os.environ and path.is_file():
        LOGGING.configure(yaml.safe_load(path.read_text(encoding="utf-8")))


assert kedro_run.callback is not None  # it is a command made from a function
run = click.Command("run", params=kedro_run.params, callback=_one_line_errors(kedro_run.callback), help=kedro_run.help)
