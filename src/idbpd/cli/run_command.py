"""``kedro run``: Kedro's command, with input errors shown in one line and the exit codes of this project."""

import functools
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import yaml
from kedro.config import MissingConfigException
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import LOGGING
from kedro.framework.startup import ProjectMetadata
from kedro.io import AbstractDataset, DatasetError

from idbpd.cli.parameter_files import check_given
from idbpd.errors import ConfigurationError, InputError, causes
from idbpd.exit_codes import NothingToDo
from idbpd.pipeline_registry import NAMES
from idbpd.process_end import command_has_succeeded
from idbpd.redaction import print_redacted, redact

# Our own input errors, and those of Kedro and YAML: a missing or malformed file.
INPUT_ERRORS = (InputError, MissingConfigException, yaml.YAMLError, DatasetError)


# Pipeline outputs that contain the "message" and the "exit_code" of the command.
CONCLUSIONS = ("retraining", "reproduction")
# Pipelines that keep no states of their own.
WITHOUT_STATES = ("ingestion", "splitting", "predict", "report", "reproduce", "compare")


def _one_line_errors(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run_or_explain(**options: Any) -> Any:
        metadata: ProjectMetadata | None = click.get_current_context().obj
        configure_logging(metadata, options["conf_source"])
        if options["pipeline"] and not options["pipelines"]:
            # We support both spellings; Kedro warns about `--pipeline` at every run.
            options["pipelines"], options["pipeline"] = [options["pipeline"]], None
        try:
            _require_pipelines(options["pipelines"])
            check_given(options["params"], _configuration(metadata, options["conf_source"]), options["env"])
            result = callback(**options)
        except KeyboardInterrupt:
            click.echo(_after_a_stop(options), err=True)
            raise click.exceptions.Exit(1) from None
        except SystemExit as stop:
            if stop.code == 128 + signal.SIGTERM:
                click.echo(_after_a_stop(options), err=True)
            raise
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
        _exit_with_recorded_code(result)
        command_has_succeeded()
        return result

    return run_or_explain


def _after_a_stop(options: Mapping[str, Any]) -> str:
    """What Ctrl-C or SIGTERM left, and what the same command will do."""
    resume = (options["params"].get("checkpoint") or {}).get("resume")
    if resume == "never" or not {*WITHOUT_STATES}.isdisjoint(options["pipelines"]):
        return "Stopped. The same command begins anew."
    return (
        "Stopped. The work is kept: what was finished, and the state of the solve that was interrupted. "
        "The same command goes on from there, to the same digits (docs/resuming.md)."
    )


def _exit_with_recorded_code(result: Mapping[str, AbstractDataset[Any, Any]]) -> None:
    """If a pipeline ended with a conclusion, print its message and exit with its code."""
    for name in CONCLUSIONS:
        if name in result:
            conclusion = result[name].load()
            click.echo(conclusion["message"])
            if conclusion["exit_code"]:
                raise click.exceptions.Exit(conclusion["exit_code"])


def explanation(error: BaseException) -> str | None:
    """The input error that caused ``error``, in one line; None if the input did not cause it."""
    found = [cause for cause in causes(error) if isinstance(cause, INPUT_ERRORS)]
    # Kedro wraps the errors of nodes and datasets; our own message is the clearest.
    best = next((cause for cause in found if isinstance(cause, InputError)), found[0] if found else None)
    return None if best is None else redact(" ".join(str(best).split()))


def _require_pipelines(names: Iterable[str]) -> None:
    for name in names:
        if name not in NAMES:
            near = get_close_matches(name, NAMES, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigurationError(
                f"unknown pipeline {name!r}; {guess}known pipelines are {', '.join(sorted(NAMES))}"
            )


def configure_logging(metadata: ProjectMetadata | None, conf_source: str | None) -> None:
    """Use the project's logging.yml from any of its folders; Kedro reads it from the working directory only."""
    path = _configuration(metadata, conf_source) / "logging.yml"
    if "KEDRO_LOGGING_CONFIG" not in os.environ and path.is_file():
        LOGGING.configure(yaml.safe_load(path.read_text(encoding="utf-8")))


def _configuration(metadata: ProjectMetadata | None, conf_source: str | None) -> Path:
    return Path(conf_source) if conf_source else (metadata.project_path if metadata else Path()) / "conf"


# Click keeps the lines of a paragraph that begins with this.
_AS_WRITTEN = "\b\n"
EPILOGUE = (
    _AS_WRITTEN
    + """\
What is most often set for one run; conf/base/parameters*.yml has all of them:
  --params dataset=yeast              a data set of conf/*/sources.yml
  --params priority=churn             the task whose worst case is minimised
  --params tasks.upsell.slack=0.2     its limit: 20 % above its best alone
  --params tasks.upsell.limit=0.6     its limit as a number, a loss
  --params tasks.upsell.limit.recall=0.7  or in a measure (docs/guardrail.md)
  --params tasks.spend.loss=huber     its loss
  --params priority=churn,seed=3      a comma between parameters
  --params comparison.sweep=0.3+0.7   '+' between the items of a list
  --env paper                         the setting of the paper

"""
    + _AS_WRITTEN
    + """\
Pipelines; without one, all steps from the table to the report are run:
  --pipeline predict --params dataset=mine,input=rows.csv,output=answers.csv
  --pipeline retrain                  train, check, register if better
  --pipeline reproduce --params run_id=...
  --pipeline compare --params compare.dataset=mine   the last runs on one page
  --pipeline benchmark                compare methods; then --pipeline report
  --pipeline frontier                 what looser limits would gain
  --pipeline energy --params energy.budget=0.3  prune within an energy budget
  --pipeline tune                     the paper's step sizes by trial
"""
)

assert kedro_run.callback is not None  # for mypy: Kedro's command always has one
run = click.Command(
    "run",
    params=kedro_run.params,
    callback=_one_line_errors(kedro_run.callback),
    help=kedro_run.help,
    epilog=EPILOGUE,
)
