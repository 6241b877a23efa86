"""Load finished runs with their results, to be compared: by their ids, of a data set, or versions of a model."""

import io
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import pandas as pd
from kedro.io import AbstractDataset, DatasetError
from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME

from idbpd.datasets.partial import temporary_folder
from idbpd.errors import ConfigurationError, DataError
from idbpd.experiment.tracked.run import TrackedRun
from idbpd.tracking.logging import flatten
from idbpd.tracking.registry import registered_name, versions
from idbpd.tracking.store import URI_VARIABLE, address, is_reachable
from idbpd.tracking.stored_results import artifact, child_of, finished_run

PURPOSE = "compared"
NOT_TRACKED = "a comparison needs tracked runs: set 'enabled: true' in mlflow.yml"
# Pipelines whose child runs are parts of something larger.
OF_PARTS = {"benchmark", "frontier", "tune"}
ORIGIN = {
    "data (SHA-256)": "data_sha256",
    "data and split (SHA-256)": "split_sha256",
    "commit": MLFLOW_GIT_COMMIT,
    "uncommitted changes": "git.dirty",
    "code (SHA-256)": "code_sha256",
    "libraries (SHA-256)": "packages_sha256",
    "Python": "python",
    "machine": "platform",
    "device": "device",
    "threads": "threads",
    "Kedro environment": "kedro_env",
    "command": "command",
}


class TrackedRunsDataset(AbstractDataset[NoReturn, "RunsInStore"]):
    """Loads an object that finds runs in the tracking store."""

    def __init__(self, *, metadata: dict[str, Any] | None = None) -> None:
        """Nothing to set: the store is that of the execution."""
        self.metadata = metadata

    def load(self) -> "RunsInStore":
        """The store, once it is known to answer."""
        store = os.environ.get(URI_VARIABLE)
        if store is None:
            raise ConfigurationError(NOT_TRACKED)
        if not is_reachable(store):
            raise DataError(f"no server answers at {address(store)}, so there is nothing to compare")
        return RunsInStore()

    def save(self, data: NoReturn) -> NoReturn:  # noqa: ARG002
        """Not supported: a tracked run never changes."""
        raise DatasetError("tracked runs are read-only")

    def _exists(self) -> bool:
        return True  # loading has a better error message than Kedro

    def _describe(self) -> dict[str, Any]:
        return {}


class RunsInStore:
    """Finished runs in MLflow's store."""

    def by_id(self, run_ids: Sequence[str]) -> list[TrackedRun]:
        """These runs; the parent that MLflow shows first stands for its only child."""
        # All are found before any file is read: a mistake in the last one is told at once.
        runs = [child_of(finished_run("compare.runs", run_id)) for run_id in run_ids]
        for at, run in enumerate(runs):
            same = [other for other in range(at) if runs[other].info.run_id == run.info.run_id]
            if same:
                raise ConfigurationError(
                    f"parameter 'compare.runs': {run_ids[same[0]]} and {run_ids[at]} are the same run"
                )
        return [_tracked(run) for run in runs]

    def last_of(self, dataset: str, count: int) -> list[TrackedRun]:
        """The last finished runs of a data set, the oldest first."""
        client = MlflowClient()
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        condition = "attributes.status = 'FINISHED' and metrics.final_objective > -1e300"
        found: list[Run] = []
        known: set[str] = set()
        token = None
        while len(found) < count:
            page = client.search_runs(
                experiments, condition, order_by=["attributes.start_time DESC"], page_token=token, max_results=200
            )
            whole = [run for run in page if _is_whole(run)]
            known |= {run.data.tags["dataset"] for run in whole}
            found += [run for run in whole if run.data.tags["dataset"] == dataset]
            token = page.token
            if not token:
                break
        if not found:
            others = f"there are runs of {', '.join(sorted(known))}" if known else "there are no runs at all"
            raise ConfigurationError(
                f"parameter 'compare.dataset' = {dataset!r}: there is no finished run of it; {others}"
            )
        return [_tracked(run) for run in reversed(found[:count])]

    def versions_of(self, model: str, count: int) -> list[TrackedRun]:
        """The runs of the last versions of a registered model, the oldest first."""
        names = sorted(found.name for found in MlflowClient().search_registered_models())
        name = model if model in names else registered_name(model)
        if name not in names:
            others = f"there are {', '.join(names)}" if names else "no model is registered yet"
            raise ConfigurationError(f"parameter 'compare.models' = {model!r}: there is no such model; {others}")
        runs = []
        for version in reversed(versions(name)[:count]):
            remark = version.verdict + (f" instead of version {replaced}" if (replaced := version.tags.get("replaced"))
                                        else "")  # fmt: skip
            run = child_of(finished_run("compare.models", version.run_id))
            runs.append(_tracked(run, version=version.number, is_champion=version.is_champion, remark=remark))
        return runs


def _is_whole(run: Run) -> bool:
    tags = run.data.tags
    return MLFLOW_PARENT_RUN_ID in tags and "dataset" in tags and OF_PARTS.isdisjoint(tags["pipeline"].split(", "))


def _tracked(run: Run, **details: Any) -> TrackedRun:
    """The run with its files."""
    client, tags = MlflowClient(), run.data.tags
    parent = client.get_run(tags[MLFLOW_PARENT_RUN_ID])
    present = {file.path for file in client.list_artifacts(run.info.run_id)}
    with temporary_folder() as folder:

        def read(name: str, of: Run = run) -> bytes:
            return artifact(of, name, folder, PURPOSE)

        def optional(name: str) -> bytes | None:
            return read(name) if name in present else None

        clock, standing = optional("clock.parquet"), optional("standing.json")
        ended = parent.info.end_time
        return TrackedRun(
            run_id=str(run.info.run_id),
            name=str(parent.data.tags.get(MLFLOW_RUN_NAME, run.info.run_name)),
            dataset=tags["dataset"],
            started=datetime.fromtimestamp(parent.info.start_time / 1000, UTC),
            seconds=None if ended is None else (ended - parent.info.start_time) / 1000,
            parameters=flatten(json.loads(read("parameters.json", parent))),
            origin={title: tags[tag] for title, tag in ORIGIN.items() if tag in tags},
            packages=_packages(read("packages.txt", parent).decode()),
            certificate=json.loads(read("certificate.json")),
            quality=json.loads(read("quality.json")),
            outcome=json.loads(read("outcome.json")),
            comparison=pd.read_csv(io.BytesIO(read("comparison.csv"))),
            history=pd.read_parquet(io.BytesIO(read("history.parquet"))),
            clock=None if clock is None else pd.read_parquet(io.BytesIO(clock)),
            standing=None if standing is None else json.loads(standing),
            **details,
        )


def _packages(text: str) -> dict[str, str]:
    """The versions in a list with a line ``name==version`` for each package."""
    return dict(line.split("==", 1) for line in text.splitlines() if "==" in line)
