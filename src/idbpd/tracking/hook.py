"""One MLflow run per execution: opened before the first node, closed with the real outcome."""

import atexit
import json
import logging
import os
import shlex
import shutil
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import settings
from kedro.pipeline import Pipeline
from rich.console import Console

from idbpd.datasets.partial import machine, temporary_folder
from idbpd.errors import ConfigurationError, causes
from idbpd.experiment.records.provenance import installed_packages
from idbpd.redaction import redacted, without_secrets
from idbpd.tracking.delivery import send
from idbpd.tracking.execution import execution_tags
from idbpd.tracking.journal import Journal
from idbpd.tracking.last_moment import close_repeated, leave_note
from idbpd.tracking.leftovers import send_leftovers
from idbpd.tracking.logging import parameters
from idbpd.tracking.retraining_hook import RETRAINING
from idbpd.tracking.run_name import DEFAULT, run_name
from idbpd.tracking.runs import EXECUTION_VARIABLE, parent_of
from idbpd.tracking.settings import OUTBOX, TrackingSettings
from idbpd.tracking.stopping import StopHandler
from idbpd.tracking.store import HTTP_LIMITS, URI_VARIABLE, address, open_store
from idbpd.validation import validated

READ_ONLY = {"compare"}  # pipelines that look at runs and are none themselves
MAX_ERROR_LENGTH = 500  # of the tag "error"

logger = logging.getLogger(__name__)


class TrackingHook:
    """Opens the parent run and closes it FINISHED, FAILED or KILLED."""

    def __init__(self) -> None:
        """Nothing is open yet."""
        self._journal: Journal | None = None
        self._environment: dict[str, str | None] = {}

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read the configuration."""
        loader = context.config_loader
        self._config = validated("mlflow", TrackingSettings, loader["mlflow"])
        self._parameters: dict[str, Any] = without_secrets(loader["parameters"])
        self._kedro_environment: str = context.env or str(settings.CONFIG_LOADER_ARGS["default_run_env"])
        self._project_path = context.project_path

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline) -> None:
        """Open the run, tagged with the command, the code and the machine."""
        if not self._config.enabled:
            return
        folder = self._project_path / self._config.folder
        store = open_store(os.environ.get(URI_VARIABLE) or self._config.tracking_uri, folder, self._config.experiment)
        names = run_params["pipeline_names"] or [DEFAULT]
        limits = {name: os.environ.get(name, value) for name, value in HTTP_LIMITS.items()}
        if READ_ONLY.issuperset(names):
            self._set_environment({URI_VARIABLE: store.uri, **limits})
            return
        facts = execution_tags(self._project_path)
        header = {
            "store": address(store.uri),
            "experiment": self._config.experiment,
            "artifacts": store.artifacts,
            "name": run_name(names, self._parameters, store.uri),
            "tags": redacted({"pipeline": ", ".join(names), "kedro_env": self._kedro_environment, **facts}),
            "parameters": redacted(parameters(self._parameters).content),
            "started": int(time.time() * 1000),
            "machine": machine(),
        }
        execution = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{uuid.uuid4().hex}"
        self._journal = Journal.begin(folder / OUTBOX / execution, header)
        self._set_environment({EXECUTION_VARIABLE: str(self._journal.folder), URI_VARIABLE: store.uri, **limits})
        send_leftovers(folder / OUTBOX, store.uri)
        # The run of a registered model stays as it is: a retraining is not repeated when nothing has changed.
        self._repeatable = RETRAINING not in pipeline.all_outputs()
        if self._repeatable:
            close_repeated(folder, self._journal)
        self._log_execution(self._journal)
        # Ctrl-C and SIGTERM do not reach Kedro's error hook, but they end the interpreter, which calls this.
        atexit.register(self._end, "KILLED")
        StopHandler(before_exit=lambda: self._end("KILLED")).install(str(run_params["runner"]))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the run and print how to open it."""
        uri, is_run = os.environ.get(URI_VARIABLE, ""), self._journal is not None
        self._end("FINISHED")
        if is_run:
            Console().print(f"all runs: {_how_to_open(uri)}", soft_wrap=True, highlight=False, markup=False)

    @hook_impl
    def on_pipeline_error(self, error: Exception) -> None:
        """Close the run as failed, with the error as a tag; a mistyped parameter leaves no run."""
        if self._journal is not None:
            parent = parent_of(self._journal)
            refused = any(isinstance(cause, ConfigurationError) for cause in causes(error))
            if refused and self._journal.keys <= {parent["key"]}:  # nothing was computed, and nothing was sent
                self._journal.discard()
                self._journal = None
                self._restore_environment()
                return
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_ERROR_LENGTH]
            self._journal.append(parent, "tags", {"error": reason})
        self._end("FAILED")

    def _log_execution(self, journal: Journal) -> None:
        """Log the parameters, which are needed to repeat the run, and the installed packages.

        They are sent with the first result: until then, the run may turn out to be refused.
        """
        parent = parent_of(journal)
        with temporary_folder() as temporary:
            values, packages = Path(temporary) / "parameters.json", Path(temporary) / "packages.txt"
            values.write_text(json.dumps(redacted(self._parameters), indent=1) + "\n", encoding="utf-8")
            packages.write_text(installed_packages(), encoding="utf-8")
            for file in (values, packages):
                journal.append(parent, "artifact", {"file": file.name}, [file])

    def _end(self, status: str) -> None:
        if self._journal is None:
            self._restore_environment()
            return
        journal, self._journal = self._journal, None
        if status == "FINISHED" and self._repeatable:
            leave_note(self._project_path / self._config.folder, journal)
        journal.end(parent_of(journal), status)
        sent = send(journal, now=True)
        journal.close()
        if not sent:
            logger.warning(
                "not everything was sent to %s; the rest is kept in %s; the next run sends it, or: kedro sync",
                journal.header["store"],
                journal.folder,
            )
        self._restore_environment()

    def _restore_environment(self) -> None:
        atexit.unregister(self._end)
        for name, value in self._environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        self._environment = {}

    def _set_environment(self, variables: dict[str, str]) -> None:
        """Set variables that tell all processes of this execution where to log, and remember the old values."""
        self._environment = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)


def _how_to_open(uri: str) -> str:
    """The URL of a server, or the command that shows a local store."""
    if uri.startswith(("http://", "https://")):
        return address(uri)
    command = shutil.which("mlflow", path=str(Path(sys.executable).parent)) or "mlflow"
    if shutil.which("mlflow") == command:
        command = "mlflow"  # the environment is activated, so the name is enough
    elif Path(command).is_relative_to(Path.cwd()):
        command = str(Path(command).relative_to(Path.cwd()))
    return f"{command} ui --backend-store-uri {shlex.quote(address(uri))}"
