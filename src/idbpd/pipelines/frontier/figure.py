"""The fronts as a picture: what the priority task gains, and what the others pay."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from idbpd.experiment.shown import name_of
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.frontier.measured import ALONE, CONSTRAINED, EQUAL, FIXED, TWO_SIDED

PANEL = (5.2, 3.6)
CLOSE = 0.05  # of the width or height of a panel: nearer points share a label
VERDICTS = {"HOLDS": "C2", "NOT SHOWN": "C1", "BROKEN": "C3"}  # the fill of a point
CAPTION = (
    "Unseen data. Bars: 95 % (1.96 bootstrap standard errors over the test samples, the same draws for all models). "
    "Numbers: slack."
)


class _Column(NamedTuple):
    """What a column of panels shows of the priority task."""

    value: str
    error: str
    label: str


def draw_frontier(frontier: pd.DataFrame) -> Figure:
    """A row of panels per front and limited task: its worst case against that of the priority task, and the measure."""
    pairs = [
        (str(priority), str(task))
        for priority, front in frontier.groupby("priority", sort=False)
        for task in front["task"].unique()
        if task != priority
    ]
    figure = Figure(figsize=(2 * PANEL[0], PANEL[1] * len(pairs) + 0.9), layout="constrained")
    grid = figure.subplots(len(pairs), 2, squeeze=False)
    for row, (priority, task) in zip(grid, pairs, strict=True):
        front = frontier[frontier["priority"] == priority]
        measure = str(front.loc[front["task"] == priority, "measure"].iloc[0])
        columns = (
            _Column("worst_case_loss", "worst_case_loss_se", name_of(WORST_CASE)),
            _Column("value", "value_se", name_of(measure)),
        )
        for axes, column in zip(row, columns, strict=True):
            _draw(axes, _side_by_side(front, priority, task), column)
            axes.set_xlabel(f"{task}: worst-case loss / that of a model for it alone")
            axes.set_ylabel(f"{priority}: {column.label}")
    # Panels differ in the verdicts that they show; the legend has all of them.
    handles: dict[str, Artist] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, fontsize="small")
    figure.supxlabel(CAPTION, fontsize="small")
    return figure


def _side_by_side(front: pd.DataFrame, priority: str, task: str) -> pd.DataFrame:
    """A row per model, with the columns of the priority task and the ``x`` of the limited one."""
    first = front[front["task"] == priority].reset_index(drop=True)
    other = front[front["task"] == task].reset_index(drop=True)
    return first.assign(x=other["relative"], x_se=other["relative_se"])


def _draw(axes: Axes, models: pd.DataFrame, column: _Column) -> None:
    fixed = models[models["model"].isin([EQUAL, FIXED])].sort_values("weight")
    _bars(axes, fixed, column, "grey")
    axes.plot(fixed["x"], fixed[column.value], "s-", color="grey", ms=4, lw=0.8, label="fixed weights, no limits")
    equal, alone = models[models["model"] == EQUAL], models[models["model"] == ALONE]
    axes.plot(equal["x"], equal[column.value], "s", color="black", ms=8, label="equal weights")
    _bars(axes, alone, column, "C4")
    axes.plot(alone["x"], alone[column.value], "*", color="C4", ms=12, label="a model for each task alone")
    points = models[models["model"] == CONSTRAINED]
    axes.plot(points["x"], points[column.value], "-", color="C0", lw=1.2, label="under limits")
    _bars(axes, points, column, "C0")
    for verdict, colour in VERDICTS.items():
        for certified in (True, False):
            some = points[points["verdict"].eq(verdict) & points["certified"].eq(certified)]
            if len(some):
                label = f"limits: {verdict}" if certified else f"limits: {verdict}, no certificate"
                edge = "C0" if certified else "red"
                axes.plot(
                    some["x"], some[column.value], "o" if certified else "X", color=colour, mec=edge, ms=7, label=label
                )
    chosen = points[points["recommended"]]
    if len(chosen):
        axes.plot(chosen["x"], chosen[column.value], "o", mfc="none", mec="black", ms=14, label="recommended")
    labels = _labels(points["slack"].tolist(), points["x"].tolist(), points[column.value].tolist(), axes)
    for number, (slacks, at) in enumerate(labels):
        beside = (6, 8) if number % 2 == 0 else (6, -16)
        axes.annotate(slacks, at, xytext=beside, textcoords="offset points", fontsize="small")


def _labels(
    slacks: list[float], x: list[float], y: list[float], axes: Axes
) -> Iterator[tuple[str, tuple[float, float]]]:
    """The slacks of neighbours that are too close for labels of their own, together, and where they are."""
    width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    together: list[int] = []
    for at in range(len(slacks)):
        first = together[0] if together else at
        if abs(x[at] - x[first]) > CLOSE * width or abs(y[at] - y[first]) > CLOSE * height:
            yield _label(slacks, together), (x[first], y[first])
            together = []
        together.append(at)
    yield _label(slacks, together), (x[together[0]], y[together[0]])


def _label(slacks: list[float], together: list[int]) -> str:
    return ", ".join(f"{slacks[at]:g}" for at in together)


def _bars(axes: Axes, models: pd.DataFrame, column: _Column, colour: str) -> None:
    axes.errorbar(
        models["x"],
        models[column.value],
        xerr=TWO_SIDED * models["x_se"],
        yerr=TWO_SIDED * models[column.error],
        fmt="none",
        ecolor=colour,
        alpha=0.35,
        lw=1,
    )
