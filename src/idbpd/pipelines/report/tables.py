"""The results of every method over its seeds, as a table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from idbpd.experiment.tracked.benchmark_results import BenchmarkCell

GROUP = ["dataset", "setting", "method"]


def as_frame(cells: Sequence[BenchmarkCell]) -> pd.DataFrame:
    """A row per cell: its tags, whether it failed, and its metrics."""
    rows = [
        {**{name: cell.tags[name] for name in (*GROUP, "seed", "status")}, "failed": cell.failed, **cell.metrics}
        for cell in cells
    ]
    columns = ["lowest_feasible_objective", "least_best_residual", "least_residual", "least_infeasibility"]
    columns += ["total_seconds", "total_evaluations", "total_gradients", "total_steps", "seconds_to_feasible"]
    frame = pd.DataFrame(rows)
    return frame.assign(**{name: np.nan for name in columns if name not in frame})


def over_seeds(cells: Sequence[BenchmarkCell]) -> pd.DataFrame:
    """A row per data set, setting and method: medians over the seeds, and in how many of them it was feasible.

    A seed without a feasible iterate counts as an infinite objective, so that it does not lower the median.
    """
    frame = as_frame(cells)
    frame["objective"] = frame["lowest_feasible_objective"].fillna(np.inf)
    groups = frame.groupby(GROUP, sort=False)
    return pd.DataFrame(
        {
            "seeds": groups.size(),
            "failed": groups["failed"].sum(),
            "feasible": groups["lowest_feasible_objective"].count(),
            "objective": groups["objective"].median(),
            "residual": groups["least_best_residual"].median(),
            "own_residual": groups["least_residual"].median(),
            "infeasibility": groups["least_infeasibility"].median(),
            "seconds": groups["total_seconds"].median(),
            "evaluations": groups["total_evaluations"].median(),
            "gradients": groups["total_gradients"].median(),
            "steps": groups["total_steps"].median(),
        }
    ).reset_index()


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The numbers as people read them."""
    return pd.DataFrame(
        {
            "method": table["method"],
            "objective at feasibility": [_objective(value) for value in table["objective"]],
            "feasible": [f"{row.feasible}/{row.seeds}" for row in table.itertuples()],
            "least violation": [_residual(value) for value in table["infeasibility"]],
            "worst residual": [_residual(value) for value in table["residual"]],
            "own multiplier": [_residual(value) for value in table["own_residual"]],
            "seconds": [_number(value, 1) for value in table["seconds"]],
            "steps": [_number(value) for value in table["steps"]],
            "forwards": [_number(value) for value in table["evaluations"]],
            "gradients": [_number(value) for value in table["gradients"]],
            "failed": [str(value) if value else "" for value in table["failed"]],
        }
    )


def summarise(cells: list[BenchmarkCell]) -> pd.DataFrame:
    """The table that is shown after a benchmark."""
    table = over_seeds(cells)
    where = table["dataset"] + " " + table["setting"]
    # The columns that fit into a line of a terminal; the page has the others.
    frame = shown(table).drop(columns=["own multiplier", "forwards", "gradients"])
    frame = frame.rename(columns={"objective at feasibility": "objective", "least violation": "violation"})
    frame.insert(0, "where", where.mask(where.duplicated(), ""))
    return frame


def _objective(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "none"


def _residual(value: float) -> str:
    return f"{value:.1e}" if np.isfinite(value) else ""


def _number(value: float, digits: int = 0) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else ""
