"""The quality of a model as numbers that are tracked."""

import math
from collections.abc import Mapping
from typing import Any

from idbpd.mtl import TaskQuality


def quality_metrics(
    measured: Mapping[str, Mapping[str, TaskQuality]], certificate: Mapping[str, Any]
) -> dict[str, float]:
    """The quality by part and task as it is tracked: ``test_<task>_accuracy`` and so on.

    A measure that is not defined on a part is left out.
    """
    values = {
        f"{part}_{task}_{name}": value
        for part, tasks in measured.items()
        for task, quality in tasks.items()
        for name, value in quality.values.items()
        if name not in quality.metrics or not math.isnan(value)
    }
    held_out, tasks = certificate["held_out"], certificate["tasks"]
    if held_out is not None:
        values["test_constraint_holds"] = float(held_out["holds"])
        for task, record in held_out["tasks"].items():
            if record["upper_bound"] is not None:
                values[f"test_{task}_upper_bound"] = record["upper_bound"]
            if len(tasks) > 1:
                values[f"test_{task}_holds"] = float(record["holds"])
    if len(tasks) > 1:
        for task, record in tasks.items():
            values[f"final_constraint_{task}"] = record["constraint"]
            values[f"final_multiplier_{task}"] = record["multiplier"]
    return values
