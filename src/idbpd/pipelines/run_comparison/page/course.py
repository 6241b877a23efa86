"""How training went in all runs: their curves, one over the other."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from idbpd.experiment.page.curve_chart import Axis, Curve, Panel, curve_section
from idbpd.experiment.page.markup import Markup, element, joined, name
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.run_comparison.marks import Marked

POINTS = 160  # of a curve
RESIDUALS = ["stationarity", "infeasibility", "slackness"]
STEP, SECONDS = "step", "seconds"
# The quantity of a curve, from the history of a run.
Quantity = Callable[[Marked, pd.DataFrame], "pd.Series[float]"]


def course(runs: Sequence[Marked]) -> Markup:
    """The section."""
    timed = {run.mark: _timed(run) for run in runs}
    horizontal = [_axis(STEP, "step", timed, lambda at: f"step {at:.0f}")]
    if all(run.run.clock is not None for run in runs):
        horizontal.append(_axis(SECONDS, "time in s", timed, lambda at: f"{at:.2f} s"))
    tasks = list(dict.fromkeys(task for run in runs for task in run.run.certificate["tasks"]))
    panels = [
        Panel("What is minimised", _curves(runs, timed, horizontal, lambda _, history: history["objective"])),
        *(_limited(runs, timed, horizontal, task) for task in tasks),
        Panel(
            "Largest KKT residual: how close to done",
            _curves(runs, timed, horizontal, lambda _, history: history[RESIDUALS].max(axis=1)),
            _tolerance(runs),
            "tolerance",
            log=True,
        ),
    ]
    objectives = "What is minimised is the worst-case loss of the priority task, with weight decay and a share of the "
    note = element("p", f"{objectives}other tasks; other parameters may mean another scale.", class_="note")
    return curve_section("training", "How training went", note, panels, horizontal)


def _timed(run: Marked) -> pd.DataFrame:
    history, clock = run.run.history, run.run.clock
    return history if clock is None else history.merge(clock, on=STEP, how="left").ffill().fillna(0.0)


def _axis(key: str, title: str, timed: dict[str, pd.DataFrame], say: Callable[[float], str]) -> Axis:
    """Places that are the same for all runs, to the end of the longest one."""
    last = max(float(history[key].iloc[-1]) for history in timed.values())
    at = np.linspace(0.0, last, POINTS)
    at = np.unique(at.round()) if key == STEP else at
    return Axis(key, title, at.tolist(), [say(one) for one in at])


def _curves(
    runs: Sequence[Marked], timed: dict[str, pd.DataFrame], horizontal: Sequence[Axis], quantity: Quantity
) -> list[Curve]:
    found = []
    for run in runs:
        history = timed[run.mark]
        values = quantity(run, history).to_numpy(dtype=float)
        along = {axis.key: _at(history[axis.key].to_numpy(dtype=float), values, axis.at) for axis in horizontal}
        found.append(Curve(run.mark, run.class_, along, run.mark))
    return found


def _at(known: np.ndarray, values: np.ndarray, wanted: Sequence[float]) -> list[float]:
    """The latest value at or before each place; none after the end of the run, but one at its end."""
    where = np.searchsorted(known, np.asarray(wanted) * (1 + 1e-12) + 1e-12, side="right") - 1
    found = values[where.clip(min=0)].astype(float)
    after = np.asarray(wanted) > known[-1] * (1 + 1e-9)
    if after.any():
        after[int(after.argmax())] = False  # up to the next place: a short run is not a short line only
    found[after] = math.nan
    return [float(value) for value in found]


def _limited(runs: Sequence[Marked], timed: dict[str, pd.DataFrame], horizontal: Sequence[Axis], task: str) -> Panel:
    having = [run for run in runs if task in run.run.certificate["tasks"]]

    def loss(run: Marked, history: pd.DataFrame) -> "pd.Series[float]":
        tasks = run.run.certificate["tasks"]
        column = f"constraint_{task}" if len(tasks) > 1 else "constraint"
        return history[column] + float(tasks[task]["threshold"])

    thresholds = {f"{run.run.certificate['tasks'][task]['threshold']:.4g}" for run in having}
    limit = float(having[0].run.certificate["tasks"][task]["threshold"]) if len(thresholds) == 1 else None
    title = joined([name(task), f": {WORST_CASE.replace('_', ' ')} in training"])
    return Panel(title, _curves(having, timed, horizontal, loss), limit)


def _tolerance(runs: Sequence[Marked]) -> float | None:
    found = {run.run.parameters.get("training.tolerance") for run in runs}
    only = found.pop() if len(found) == 1 else None
    return float(only) if isinstance(only, int | float) else None
