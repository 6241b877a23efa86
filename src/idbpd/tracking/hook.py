"""One MLflow run per execution: opened before the first node, closed with how it really ended."""

import atexit
import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from mlflow import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_RUN_NAME
from rich.console import Console

from idbpd.processes import this_process
from idbpd.tracking.abandoned import PROCESS_TAG, close_abandoned
from idbpd.tracking.logging import log_parameters
from idbpd.tracking.origin import log_origin
from idbpd.tracking.runs import PARENT_RUN_VARIABLE, end_runs
from idbpd.tracking.settings import TrackingSettings
from idbpd.tracking.store import open_store
from idbpd.validation import validated

URI_VARIABLE = "MLFLOW_TRACKING_URI"

# MLflow creates its tables with a line of log for each.
for name in ("alembic", "mlflow"):
    logging.getLogger(name).setLevel(logging.WARNING)


class TrackingHook:
    """Opens the parent run and closes it FINISHED, FAILED or KILLED."""

    def __init__(self) -> None:
        """Nothing is open yet."""
        self._run: str | None = None
        self._uri = ""
        self._environment: dict[str, str | None] = {}

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Take what the run will need to know."""
        self._config = validated("mlflow", TrackingSettings, context.config_loader["mlflow"])
        self._parameters: dict[str, Any] = context.config_loader["parameters"]
        self._project_path = context.project_path

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any]) -> None:
        """Open the run, tagged with the code it ran on and the command that started it."""
        if not self._config.enabled:
            return
        uri = os.environ.get(URI_VARIABLE) or self._config.tracking_uri
        folder = self._project_path / self._config.folder
        self._uri, experiment = open_store(uri, folder, self._config.experiment)
        close_abandoned(experiment)
        pipeline = ", ".join(run_params["pipeline_names"] or ["__default__"])
        tags = {
            MLFLOW_RUN_NAME: f"{pipeline} {self._parameters['dataset']}",
            "pipeline": pipeline,
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            PROCESS_TAG: this_process(),
            **_git_tags(self._project_path),
        }
        self._run = str(MlflowClient().create_run(experiment, tags=tags).info.run_id)
        log_parameters(self._run, self._parameters)
        log_origin(self._run, self._parameters, run_params["env"])
        self._set_environment({PARENT_RUN_VARIABLE: self._run, URI_VARIABLE: self._uri})
        # Neither Ctrl-C nor a termination reaches Kedro's error hook; both end the interpreter, and this runs then.
        atexit.register(self._end, "KILLED")
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Close the run and say how to look at it."""
        if self._run is not None:
            self._end("FINISHED")
            command = shutil.which("mlflow", path=str(Path(sys.executable).parent)) or "mlflow"
            if shutil.which("mlflow") == command:
                command = "mlflow"  # the environment is activated: its name will do
            elif Path(command).is_relative_to(Path.cwd()):
                command = str(Path(command).relative_to(Path.cwd()))
            line = f"all runs: {command} ui --backend-store-uri {shlex.quote(self._uri)}"
            Console().print(line, soft_wrap=True, highlight=False, markup=False)

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Close the run as failed."""
        self._end("FAILED")

    def _end(self, status: str) -> None:
        if self._run is None:
            return
        run, self._run = self._run, None
        end_runs(run, status)
        atexit.unregister(self._end)
        for name, value in self._environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

    def _set_environment(self, variables: dict[str, str]) -> None:
        """Tell the processes of this execution where to log, and remember what to put back."""
        self._environment = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    sys.exit(128 + number)


def _git_tags(project_path: Path) -> dict[str, str]:
    """The commit and whether the work tree differs from it; nothing where there is no repository or no git."""
    try:
        commit = _git(project_path, "rev-parse", "HEAD")
        dirty = bool(_git(project_path, "status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {MLFLOW_GIT_COMMIT: commit, "git.dirty": str(dirty).lower()}


def _git(project_path: Path, *arguments: str) -> str:
    command = ["git", "-C", str(project_path), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
