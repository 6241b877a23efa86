"""Load everything about a tracked run that is needed to repeat it."""

import json
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_PARENT_RUN_ID
from safetensors.torch import load

from idbpd.datasets.partial import temporary_folder
from idbpd.errors import ConfigurationError
from idbpd.tracking.stored_results import artifact, child_of, finished_run

FRONTIER = "frontier"  # the pipeline whose models depend on each other
PURPOSE = "repeated"
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
        child = child_of(self._run())
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
            parameters = json.loads(artifact(parent, "parameters.json", folder, PURPOSE))
            packages = artifact(parent, "packages.txt", folder, PURPOSE).decode()
            results = {name: json.loads(artifact(child, f"{name}.json", folder, PURPOSE)) for name in RESULTS}
            weights = load(artifact(child, WEIGHTS, folder, PURPOSE))
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
        return finished_run("run_id", str(self._run_id))

    def _exists(self) -> bool:
        return True  # loading has a better error message than Kedro

    def _describe(self) -> dict[str, Any]:
        return {"run_id": self._run_id}
