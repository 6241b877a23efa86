"""The recommendation in words, with the command that trains the model again."""

import shlex

import pandas as pd

from idbpd.experiment.shown import name_of, written
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.frontier.measured import BY_HAND, CONSTRAINED, EQUAL, TWO_SIDED


def advise(frontier: pd.DataFrame, dataset: str, priority: str | None) -> str:
    """A paragraph per front: which point to take and why, where its model is, and how to train it again.

    ``priority`` is the parameter of the run; without it a plain run has the priority of the data set.
    """
    fronts = [front for _, front in frontier.groupby("priority", sort=False)]
    return "\n".join(_paragraph(front, dataset, priority) for front in fronts)


def _paragraph(front: pd.DataFrame, dataset: str, priority: str | None) -> str:
    name = str(front["priority"].iloc[0])
    first = front[front["task"] == name]
    points, chosen = first[first["model"] == CONSTRAINED], first[first["recommended"]]
    if chosen.empty:
        return f"{name} first: no point is recommended. {_why_none(points)}"
    point, equal = chosen.iloc[0], first[first["model"] == EQUAL].iloc[0]
    eligible = points[points["verdict"].eq("HOLDS") & points["certified"]]
    best = eligible.sort_values("worst_case_loss").iloc[0]
    why = (
        "of the points whose limits hold it has the smallest"
        if best["slack"] == point["slack"]
        else f"it is the tightest of the points whose limits hold that is within one standard error of the best "
        f"(slack {best['slack']:g}: {written(WORST_CASE, best['worst_case_loss'])}) in the"
    )
    command = f"--params {shlex.quote(','.join(_parameters(front, point, dataset, priority)))}"
    return "\n".join(
        [
            f"{name} first: slack {point['slack']:g} is recommended; {why} worst-case loss of {name} on unseen data, "
            f"{_with_error(point)}. {_against_equal(point, equal)}",
            f"  its model: {point['folder']}/model, in the folder below; its tracked run has the tags priority={name} "
            f"and slack={point['slack']:g}",
            f"  register it: kedro register --dataset {dataset} --priority {shlex.quote(name)} "
            f"--slack {point['slack']:g}",
            f"  train it alone: kedro run {command}",
            f"  train, check and promote it: kedro run --pipeline retrain {command}",
            "  (with the other parameters of this run, if any; the start is another one, calibration.reserve=auto is "
            "chosen for this slack, and so the digits differ)",
        ]
    )


def _parameters(front: pd.DataFrame, point: pd.Series, dataset: str, priority: str | None) -> list[str]:
    """The parameters with which a plain run promises the limits of a point on unseen data."""
    names = ["calibration.slack", *front["limit_set_by"].dropna().unique()]
    slacks = [f"{name}={point['slack']:g}" for name in dict.fromkeys(names) if name != BY_HAND]
    is_own = bool(front["own_priority"].iloc[0]) and priority is None
    return [f"dataset={dataset}", *slacks, *([] if is_own else [f"priority={point['priority']}"])]


def _why_none(points: pd.DataFrame) -> str:
    """What is in the way, and what may help."""
    if not points["certified"].any():
        return "No point has a certificate: training.max_steps may be too small."
    shown = points[points["certified"] & points["verdict"].eq("NOT SHOWN")]
    room = "a larger calibration.reserve than that of this run (at most 1) leaves more of the slack unused in training"
    if not shown.empty:
        slacks = ", ".join(f"{slack:g}" for slack in shown["slack"])
        return (
            f"The limits of slack {slacks} are kept on the test part, but it is too small to show that they hold; more "
            f"test rows would, and {room}."
        )
    return f"On unseen data no certified point keeps its limits; more training rows may help, and {room}."


def _against_equal(point: pd.Series, equal: pd.Series) -> str:
    """The difference on the same samples, and whether it may be chance."""
    difference, error = float(point["against_equal"]), float(point["against_equal_se"])
    word = "below" if difference <= 0 else "above"
    chance = "; this may be chance" if abs(difference) <= TWO_SIDED * error else ""
    measure = str(equal["measure"])
    return (
        f"It is {abs(difference):.4f} ± {error:.4f} {word} that of equal weights ({name_of(measure)} "
        f"{written(measure, equal['value'])}){chance}."
    )


def _with_error(row: pd.Series) -> str:
    measure = str(row["measure"])
    loss = f"{written(WORST_CASE, row['worst_case_loss'])} ± {row['worst_case_loss_se']:.4f}"
    return f"{loss}, {name_of(measure)} {written(measure, row['value'])}"
