"""Register the model of a point of a frontier."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from idbpd.errors import ConfigurationError
from idbpd.tracking.model import ADDRESS_TAG
from idbpd.tracking.model_files import verify_model
from idbpd.tracking.registry import CERTIFICATE, register, registered_name

FINAL = "final_"  # the prefix of the metrics of the returned model
SHOWN = ("priority", "slack", "verdict")  # tags of a point that its version gets too, after this prefix:
POINT = "frontier."


class RegisteredPoint(NamedTuple):
    """A version in the registry, and the point that it was."""

    name: str
    number: int
    priority: str
    verdict: str
    run_id: str


def register_point(dataset: str, slack: float, priority: str | None) -> RegisteredPoint:
    """Register the model that the latest frontier of a data set has for a slack, with its certificate as tags.

    It becomes a version as a retraining makes one, but has passed no gate, and so cannot become the champion.
    """
    run = _find(dataset, f"{slack:g}", priority)
    tags, uri = run.data.tags, run.data.tags[ADDRESS_TAG]
    with TemporaryDirectory(prefix="idbpd-model-") as folder:  # an altered model must not be registered
        verify_model(uri, Path(folder))
    metrics = {name.removeprefix(FINAL): value for name, value in run.data.metrics.items() if name.startswith(FINAL)}
    described = {
        **{f"{CERTIFICATE}{name}": value for name, value in metrics.items()},
        f"{CERTIFICATE}status": tags["status"],
        **{f"{POINT}{name}": tags[name] for name in SHOWN},
    }
    name = registered_name(dataset)
    number = register(name, uri.removeprefix("models:/"), run.info.run_id, described)
    return RegisteredPoint(name, number, tags["priority"], tags["verdict"], run.info.run_id)


def _find(dataset: str, slack: str, priority: str | None) -> Run:
    points = _latest_points(dataset)
    found = [
        run
        for run in points
        if run.data.tags["slack"] == slack and priority in (None, run.data.tags["priority"]) and _has_model(run)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(run.data.tags["priority"] for run in found)
        raise ConfigurationError(f"several points have the slack {slack}; choose one with --priority: {names}")
    if not points:
        raise ConfigurationError(
            f"no frontier of {dataset!r} has been finished; make one with kedro run --pipeline frontier --params "
            f"dataset={dataset}"
        )
    known = ", ".join(f"{run.data.tags['priority']} {run.data.tags['slack']}" for run in points)
    asked = f"slack {slack}" if priority is None else f"priority {priority} and slack {slack}"
    raise ConfigurationError(f"the latest frontier of {dataset!r} has no point with {asked}; it has {known}")


def _latest_points(dataset: str) -> list[Run]:
    """The points of the latest finished frontier of a data set, in the order in which they were saved."""
    client = MlflowClient()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    condition = f"tags.pipeline = 'frontier' AND tags.dataset = '{dataset}' AND attributes.status = 'FINISHED'"
    runs = client.search_runs(experiments, condition, order_by=["attributes.start_time DESC"])
    points = [run for run in runs if {"slack", "priority", MLFLOW_PARENT_RUN_ID} <= set(run.data.tags)]
    latest = [run for run in points if _parent(run) == _parent(points[0])]
    return latest[::-1]


def _parent(run: Run) -> str:
    return str(run.data.tags[MLFLOW_PARENT_RUN_ID])


def _has_model(run: Run) -> bool:
    return ADDRESS_TAG in run.data.tags
