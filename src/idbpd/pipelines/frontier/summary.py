"""The fronts in short, as they are shown in a terminal."""

import pandas as pd

from idbpd.experiment.shown import WORST_CASE, name_of, written
from idbpd.pipelines.frontier.measured import ALONE, CONSTRAINED


def summarise(frontier: pd.DataFrame) -> pd.DataFrame:
    """A row per model: the priority task on unseen data with standard errors, and the others relative to alone."""
    several = frontier["priority"].nunique() > 1
    rows = []
    for _, front in frontier.groupby("priority", sort=False):
        limits = front["model"] == CONSTRAINED
        ordered = pd.concat([front[limits], front[~limits]])
        for _, model in ordered.groupby(["model", "slack", "weight"], sort=False, dropna=False):
            first = model[model["task"] == model["priority"]].iloc[0]
            rows.append({**({"first": first["priority"]} if several else {}), **_row(model, first)})
    return pd.DataFrame(rows).fillna("")


def _row(model: pd.DataFrame, first: pd.Series) -> dict[str, str]:
    measure = str(first["measure"])
    others = model[model["task"] != first["priority"]]
    return {
        "model": _named(first),
        f"{first['priority']}: worst case": _with_error(
            WORST_CASE, first["worst_case_loss"], first["worst_case_loss_se"]
        ),
        f"{first['priority']}: {name_of(measure)}": _with_error(measure, first["value"], first["value_se"]),
        "limits": _or_nothing(first["verdict"]),
        **{
            f"{task} / alone": f"{relative:.3f}"
            for task, relative in zip(others["task"], others["relative"], strict=True)
        },
        "residual": f"{first['residual']:.1e}" if first["model"] == CONSTRAINED else "",
        "solver": _or_nothing(first["status"]),
    }


def _named(row: pd.Series) -> str:
    """The model, with a mark at the recommended one."""
    if row["model"] == CONSTRAINED:
        return f"{'* ' if row['recommended'] else ''}slack {row['slack']:g}"
    return str(row["model"]) if row["model"] == ALONE else f"{row['model']} {row['weight']:.2g}"


def _with_error(measure: str, value: float, error: float) -> str:
    if pd.isna(error):
        return written(measure, value)
    return f"{written(measure, value)} ± {written(measure, error)}"


def _or_nothing(value: object) -> str:
    return value if isinstance(value, str) else ""
