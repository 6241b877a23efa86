"""The limits at one point of a frontier."""

from collections.abc import Mapping
from typing import Any


def limits_at(threshold: Mapping[str, Any], slack: float) -> dict[str, Any]:
    """The record of calibration with other limits: value x (1 + slack). A limit that was set by hand stays.

    Where calibration kept a part of the slack in reserve, so does every point.
    """
    tasks = {name: _of_task(record, slack) for name, record in threshold["tasks"].items()}
    limits = [record["threshold"] for record in tasks.values()]
    return {**threshold, "threshold": limits[0] if len(limits) == 1 else limits, "slack": slack, "tasks": tasks}


def _of_task(record: Mapping[str, Any], slack: float) -> dict[str, Any]:
    if record["slack"] is None:
        return dict(record)
    value = float(record["value"])
    return {**record, "slack": slack, "threshold": value * (1 + slack * _used(record))}


def _used(record: Mapping[str, Any]) -> float:
    """The share of the slack that training may use, as calibration had it."""
    value, slack = float(record["value"]), float(record["slack"])
    if value <= 0 or slack <= 0:
        return 1.0
    return round((float(record["threshold"]) / value - 1) / slack, 9)  # without the rounding error of the division
