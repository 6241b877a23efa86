"""The limits at one point of a frontier."""

from collections.abc import Mapping
from typing import Any

from idbpd.experiment.limits.thresholds import Promise


def limits_at(threshold: Mapping[str, Any], slack: float) -> dict[str, Any]:
    """The record of calibration with the limits of another slack. A limit that is not a slack stays.

    Where calibration kept a part of the slack in reserve, so does every point.
    """
    tasks = {name: _of_task(record, slack) for name, record in threshold["tasks"].items()}
    limits = [record["threshold"] for record in tasks.values()]
    return {**threshold, "threshold": limits[0] if len(limits) == 1 else limits, "slack": slack, "tasks": tasks}


def _of_task(record: Mapping[str, Any], slack: float) -> dict[str, Any]:
    if record["slack"] is None:
        return dict(record)
    promise = Promise.of_record(record)._replace(slack=slack)
    return {
        **record,
        "slack": slack,
        "threshold": promise.threshold(record["value"], record["guess"], record["reserve"]),
    }
