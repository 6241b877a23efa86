"""The fronts in short, as they are shown in a terminal."""

import pandas as pd

from idbpd.experiment.shown import name_of, written
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.frontier.measured import ALONE, CONSTRAINED

BY_MODEL = ["model", "slack", "weight"]


def summarise(frontier: pd.DataFrame) -> pd.DataFrame:
    """A row per model: the priority task on unseen data, with standard errors, and the others relative to alone."""
    fronts = [front for _, front in frontier.groupby("priority", sort=False)]
    rows = []
    for front in fronts:
        limits = front["model"] == CONSTRAINED
        for _, model in pd.concat([front[limits], front[~limits]]).groupby(BY_MODEL, sort=False, dropna=False):
            rows.append(_row(model, several=len(fronts) > 1))
    return pd.DataFrame(rows).fillna("")


def _row(model: pd.DataFrame, *, several: bool) -> dict[str, str]:
    first = model[model["task"] == model["priority"]].iloc[0]
    others = model[model["task"] != model["priority"]]
    measure, priority = str(first["measure"]), str(first["priority"])
    worst = _with_error(WORST_CASE, first["worst_case_loss"], first["worst_case_loss_se"])
    usual = _with_error(measure, first["value"], first["value_se"])
    of_priority = (
        {"first": priority, "worst case": worst, "usual measure": f"{usual} {name_of(measure)}"}
        if several
        else {f"{priority}: worst case": worst, f"{priority}: {name_of(measure)}": usual}
    )
    relative = zip(others["task"], others["relative"], strict=True)
    return {
        "model": _named(first),
        **of_priority,
        "limits": _or_nothing(first["verdict"]),
        **{f"{task} / alone": f"{value:.3f}" for task, value in relative},
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
