"""Find a finished run in the store, and read its files."""

from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from idbpd.errors import ConfigurationError


def finished_run(parameter: str, run_id: str) -> Run:
    """The run with this id; a `ConfigurationError` names the parameter if there is none, or if it has not finished."""
    try:
        run = MlflowClient().get_run(run_id)
    except MlflowException as error:
        raise ConfigurationError(f"parameter {parameter!r} = {run_id!r}: there is no such run in the store") from error
    if run.info.status != "FINISHED":
        raise ConfigurationError(
            f"parameter {parameter!r} = {run_id!r}: that run is {run.info.status}; only a finished one has results"
        )
    return run


def child_of(run: Run) -> Run:
    """The run of the model itself, for a run or for the parent that people see first."""
    if MLFLOW_PARENT_RUN_ID in run.data.tags:
        return run
    children = MlflowClient().search_runs(
        [run.info.experiment_id], filter_string=f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{run.info.run_id}'"
    )
    if len(children) != 1:
        ids = ", ".join(child.info.run_id for child in children) or "none"
        raise ConfigurationError(f"run {run.info.run_id} has {len(children)} child runs; choose one of them: {ids}")
    return children[0]


def artifact(run: Run, name: str, folder: str, purpose: str) -> bytes:
    """The content of a file of a run; a `ConfigurationError` says what cannot be done without it."""
    try:
        return Path(MlflowClient().download_artifacts(run.info.run_id, name, folder)).read_bytes()
    except (MlflowException, OSError) as error:
        raise ConfigurationError(f"run {run.info.run_id} cannot be {purpose}: it has no {name}") from error
