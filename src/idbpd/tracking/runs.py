"""Which MLflow run a result belongs to.

One execution is one parent run. Under it there is one child run per data set, method and seed, so that methods are
rows that can be compared instead of prefixes of metric names. The parent is known to every process of the execution
through the environment: Kedro's hooks do not run in the workers of its parallel runner, datasets do.
"""

import os
from collections.abc import Mapping
from typing import Any

from mlflow import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME

PARENT_RUN_VARIABLE = "IDBPD_PARENT_RUN"
CLOSED = "closed"  # the tag of a run that was closed before its parent was


def parent_run() -> str | None:
    """The parent run of this execution; None where nothing is tracked."""
    return os.environ.get(PARENT_RUN_VARIABLE)


def child_run(identity: Mapping[str, Any]) -> str | None:
    """The child run with these tags, made when first asked for; None where nothing is tracked."""
    parent = parent_run()
    if parent is None:
        return None
    client = MlflowClient()
    experiment = client.get_run(parent).info.experiment_id
    tags = {MLFLOW_PARENT_RUN_ID: parent, **{name: str(value) for name, value in identity.items()}}
    condition = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    found = client.search_runs([experiment], filter_string=condition, max_results=1)
    if found:
        return str(found[0].info.run_id)
    name = " ".join(str(value) for value in identity.values())
    return str(client.create_run(experiment, tags={**tags, MLFLOW_RUN_NAME: name}).info.run_id)


def close_run(run_id: str, status: str) -> None:
    """Close a child run with a status of its own, whatever becomes of its parent."""
    client = MlflowClient()
    client.set_tag(run_id, CLOSED, status)
    client.set_terminated(run_id, status)


def end_runs(parent: str, status: str) -> None:
    """Close the parent, and all its children that were not closed on purpose, as FINISHED, FAILED or KILLED."""
    client = MlflowClient()
    experiment = client.get_run(parent).info.experiment_id
    children = client.search_runs([experiment], filter_string=f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{parent}'")
    for run in (child for child in children if CLOSED not in child.data.tags):
        # Whatever its status: logging a model closes its run as finished, also when a later node fails.
        client.set_terminated(run.info.run_id, status)
    client.set_terminated(parent, status)
