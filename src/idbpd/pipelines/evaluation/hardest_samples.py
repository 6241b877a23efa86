"""The hardest samples of all tasks as one table, for MLflow's page."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

# The first names a row: MLflow puts the rows of several runs side by side by it.
COLUMNS = ("sample", "row", "loss", "weight", "true", "model says", "group")


def hardest_samples(study: Mapping[str, Any]) -> pd.DataFrame:
    """A row per sample of ``worst_case_study``: what is true, what the model says, and the columns of the file."""
    rows = [
        {
            "sample": f"{task} {place}",
            "row": sample["row"],
            "loss": round(sample["loss"], 4),
            "weight": round(sample["weight"], 2),
            "true": sample["truth"],
            "model says": sample["answer"],
            "group": sample["group"] or "",
            **{column: cell for column, cell in sample["columns"].items() if column not in COLUMNS},
        }
        for task, found in study["tasks"].items()
        for place, sample in enumerate(found["hardest"], start=1)
    ]
    return pd.DataFrame(rows, columns=None if rows else list(COLUMNS)).fillna("")
