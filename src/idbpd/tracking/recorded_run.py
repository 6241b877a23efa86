"""Load everything about a tracked run that is needed to repeat it."""

import json
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_PARENT_RUN_ID
from safetensors.torch import load

from idbpd.datasets.partial import temporary_folder
from idbpd.errors import ConfigurationError

FRONTIER = "frontier"  # the pipeline whose models depend on each other
ENERGY = "energy"  # the pipeline whose model comes from a dense one that is not tracked
WEIGHTS, RESULTS = "weights.safetensors", ("certificate", "quality")


class RecordedRunDataset(AbstractDataset[NoReturn, dict[str, Any]]):
    """Loads the origin and the results of a finished run: a parent run, or one of its child runs."""

    def __init__(self, *, run_id: str | None, metadata: dict[str, Any] | None = None) -> None:
        """Set the run."""
        self._run_id = run_id
        self.metadata = metadata

    def load(self) -> dict[str, Any]:
        """Read the run and its artifacts from the store."""
        child = _child(self._run())
        if child.data.tags.get("pipeline") == FRONTIER:
            raise ConfigurationError(
                f"run {child.info.run_id} is a point of a frontier, which starts from the point before it; it cannot "
                f"be repeated by itself. The command repeats all points: {child.data.tags['command']}"
            )
        if child.data.tags.get("pipeline") == ENERGY:
            raise ConfigurationError(
                f"run {child.info.run_id} is a model within an energy budget, which a plain run does not make; the "
                f"command repeats it: {child.data.tags['command']}"
            )
        parent = MlflowClient().get_run(child.data.tags[MLFLOW_PARENT_RUN_ID])
        with temporary_folder() as folder:
            parameters = json.loads(_artifact(parent, "parameters.json", folder))
            packages = _artifact(parent, "packages.txt", folder).decode()
            results = {name: json.loads(_artifact(child, f"{name}.json", folder)) for name in RESULTS}
            weights = load(_artifact(child, WEIGHTS, folder))
        return {
            "run_id": child.info.run_id,
            "commit": parent.data.tags.get(MLFLOW_GIT_COMMIT),
            "data_sha256": child.data.tags.get("data_sha256"),
            "parameters": parameters,
            "env": parent.data.tags["kedro_env"],
            "code_sha256": parent.data.tags["code_sha256"],
            "threads": int(child.data.tags["threads"]),
            "packages": packages,
            **results,
            "weights": weights,
        }

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: a tracked run never changes."""
        raise DatasetError("a tracked run is read-only")

    def _run(self) -> Run:
        if self._run_id is None:
            raise ConfigurationError(
                "parameter 'run_id' is missing: kedro run --pipeline reproduce --params run_id=..."
            )
        try:
            run = MlflowClient().get_run(str(self._run_id))
        except MlflowException as error:
            raise ConfigurationError(
                f"parameter 'run_id' = {self._run_id!r}: there is no such run in the store"
            ) from error
        if run.info.status != "FINISHED":
            raise ConfigurationError(
                f"parameter 'run_id' = {self._run_id!r}: that run is {run.info.status}; only a finished one has results"
            )
        return run

    def _exists(self) -> bool:
        return True  # loading has a better error message than Kedro

    def _describe(self) -> dict[str, Any]:
        return {"run_id": self._run_id}


def _child(run: Run) -> Run:
    if MLFLOW_PARENT_RUN_ID in run.data.tags:
        return run
    children = MlflowClient().search_runs(
        [run.info.experiment_id], filter_string=f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{run.info.run_id}'"
    )
    if len(children) != 1:
        ids = ", ".join(child.info.run_id for child in children) or "none"
        raise ConfigurationError(f"run {run.info.run_id} has {len(children)} child runs; choose one of them: {ids}")
    return children[0]


def _artifact(run: Run, name: str, folder: str) -> bytes:
    try:
        return Path(MlflowClient().download_artifacts(run.info.run_id, name, folder)).read_bytes()
    except (MlflowException, OSError) as error:
        raise ConfigurationError(f"run {run.info.run_id} cannot be repeated: it has no {name}") from error
