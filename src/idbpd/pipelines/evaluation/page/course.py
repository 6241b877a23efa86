"""How training went: curves over steps and over seconds that a reader can walk along."""

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from idbpd.pipelines.evaluation.page.drawing import WIDTH, axes, box, drawing, line, number, path, words
from idbpd.pipelines.evaluation.page.facts import Facts
from idbpd.pipelines.evaluation.page.markup import (
    Markup,
    element,
    figure,
    grid,
    joined,
    name,
    section,
    single,
    table,
    whole,
)
from idbpd.pipelines.evaluation.page.scales import Scale, linear, logarithmic

POINTS = 200  # of a curve: more than a panel has pixels for
FLOOR = 1e-10  # smaller residuals are as good as zero, which a logarithmic axis does not have
LEAST_REACH = 0.02  # of an axis around a limit, as a share of it
LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 44.0, WIDTH - 10, 12.0, 176.0, 216.0
TIMES = {"step": "step", "seconds": "time in s"}
RESIDUALS = {
    "stationarity": "how far the weights are from where no step makes the objective better under the limits",
    "infeasibility": "by how much the worst limit is violated on the training data",
    "slackness": "how far multiplier and limit are from one of them being zero",
}


class Curve(NamedTuple):
    """One line of a panel."""

    title: str
    values: Sequence[float]
    class_: str


def course(facts: Facts) -> Markup:
    """The section."""
    timed = _thinned(facts.history.merge(facts.clock, on="step", how="left"))
    outcome = facts.outcome
    ended = f"{outcome['method']}: {outcome['status']}" if "method" in outcome else str(outcome["status"])
    reason = f" ({outcome['reason']})" if outcome.get("reason") else ""
    return section(
        "training",
        "How training went",
        element("p", f"{ended} after {outcome['steps']} steps, {outcome['seconds']:.1f} s{reason}."),
        _controls(timed),
        grid(*(_panel(*panel, timed) for panel in _panels(facts, timed)), class_="panels curves"),
        _data(timed),
        certificate(facts),
    )


def certificate(facts: Facts) -> Markup:
    """The three residuals at the saved weights."""
    rows = [(residual, whole(f"{facts.certificate[residual]:.1e}"), meaning) for residual, meaning in RESIDUALS.items()]
    note = (
        "Recomputed in float64 from the saved weights. Zero in all three is a point that satisfies the KKT conditions."
    )
    return joined(
        [table("The certificate: KKT residuals", ["residual", "value", "meaning"], rows, class_="words"),
         element("p", note, class_="note")]
    )  # fmt: skip


def _thinned(timed: pd.DataFrame) -> pd.DataFrame:
    """Of each window of steps the last one, with the largest residuals of the window: those jump from step to step."""
    timed = timed.ffill().fillna(0.0)
    length = math.ceil(len(timed) / POINTS)
    windows = timed.groupby(np.arange(len(timed)) // length)
    found = windows.last()
    for residual in RESIDUALS:
        found[residual] = windows[residual].max()
    found.iloc[-1] = timed.iloc[-1]  # the end is the end, and not the worst of the last window
    return found


def _panels(facts: Facts, timed: pd.DataFrame) -> list[tuple[object, list[Curve], float | None, bool]]:
    """Title, curves, limit, and whether the axis is logarithmic."""
    unit = f" in {facts.unit(facts.priority)}" if facts.unit(facts.priority) else ""
    share = ", a share of the other tasks" if facts.beyond_limits else ""
    first = Curve(f"worst-case loss{unit}, with weight decay{share}", timed["objective"].tolist(), "s1")
    panels: list[tuple[object, list[Curve], float | None, bool]] = [
        (joined([name(facts.priority), ": what is minimised"]), [first], None, False)
    ]
    for task in facts.limited:
        column = f"constraint_{task}" if len(facts.limited) > 1 else "constraint"
        threshold = float(facts.certificate["tasks"][task]["threshold"])
        unit = f" in {facts.unit(task)}" if facts.unit(task) else ""
        curve = Curve(f"worst-case loss{unit}", (timed[column] + threshold).tolist(), "s1")
        panels.append((joined([name(task), ": what keeps a limit"]), [curve], threshold, False))
    residuals = [Curve(residual, timed[residual].tolist(), f"s{at}") for at, residual in enumerate(RESIDUALS, start=1)]
    panels.append(("KKT residuals: how close to done", residuals, _tolerance(facts), True))
    return panels


def _tolerance(facts: Facts) -> float | None:
    tolerance = facts.parameters.get("training", {}).get("tolerance")
    return float(tolerance) if tolerance is not None else None


def _panel(title: object, curves: list[Curve], limit: float | None, log: bool, timed: pd.DataFrame) -> Markup:
    values = [value for curve in curves for value in curve.values if math.isfinite(value)]
    reach = [*values, *([] if limit is None else [limit])]
    if limit is not None and not log:
        # Training follows a limit to many digits; an axis of nothing else would make much of them.
        reach += [limit - LEAST_REACH * abs(limit), limit + LEAST_REACH * abs(limit)]
    y = logarithmic(reach, BOTTOM, TOP, floor=FLOOR) if log else _without_outliers(reach)
    drawings = [_drawn(curves, limit, log, y, time, timed) for time in TIMES]
    keys = [
        element("button", element("span", "", class_=f"key {curve.class_}"), curve.title, type="button",
                aria_pressed="true", class_="series", data_series=curve.class_)
        for curve in curves
    ]  # fmt: skip
    readings = element("output", "at the end " + _ends(curves), class_="reading")
    return figure(title, joined(drawings), joined([element("span", *keys, class_="keys"), readings]))


def _ends(curves: list[Curve]) -> str:
    return " · ".join(f"{curve.values[-1]:.4g}" for curve in curves)


def _without_outliers(values: Sequence[float]) -> Scale:
    """A start far above all that follows would press the rest to the bottom: the axis ends a little above the rest."""
    ordered = sorted(values) or [0.0]
    most = ordered[min(int(0.97 * len(ordered)), len(ordered) - 1)]
    high = ordered[-1]
    room = most + 0.6 * max(most - ordered[0], 0.02 * abs(most))
    return linear([ordered[0], min(high, room)], BOTTOM, TOP)


def _drawn(curves: list[Curve], limit: float | None, log: bool, y: Scale, time: str, timed: pd.DataFrame) -> Markup:
    times = timed[time].tolist()
    x = Scale(0.0, max(times[-1], 1e-9), LEFT, RIGHT)
    parts: list[object] = [axes(x, y, x_title=TIMES[time])]
    if limit is not None:
        place = y.at(limit)
        if not log:
            parts.append(box(LEFT, TOP, RIGHT - LEFT, place - TOP, "beyond"))
        parts.append(line(LEFT, place, RIGHT, place, "limit"))
    for curve in curves:
        points = [
            None if log and value <= FLOOR else (x.at(at), y.at(value))
            for at, value in zip(times, curve.values, strict=True)
        ]
        parts.append(path(points, f"curve {curve.class_}", data_series=curve.class_))
    if limit is not None:
        what, place = f"{'tolerance' if log else 'limit in training'} {limit:.4g}", y.at(limit)
        parts.append(words(RIGHT, place - 5 if place > TOP + 12 else place + 13, what, "label limit-name", "end"))
    parts.append(line(LEFT, TOP, LEFT, BOTTOM, "cursor"))
    ends = "; ".join(f"{curve.title} from {curve.values[0]:.4g} to {curve.values[-1]:.4g}" for curve in curves)
    known = {
        "x": [number(x.at(at)) for at in times],
        "y": {curve.class_: [number(y.at(value)) for value in curve.values] for curve in curves},
        "v": {curve.class_: [f"{value:.4g}" for value in curve.values] for curve in curves},
    }
    return drawing(
        HEIGHT,
        f"Over {TIMES[time]}: {ends}",
        *parts,
        class_=f"over {time}",
        data_points=json.dumps(known, separators=(",", ":")),
    )


def _controls(timed: pd.DataFrame) -> Markup:
    """A choice of the axis, and a slider along the steps; both do something only where scripts run."""
    buttons = [
        element("button", f"over {what}", type="button", class_="axis", data_axis=time,
                aria_pressed="true" if time == "step" else "false")
        for time, what in (("step", "steps"), ("seconds", "seconds"))
    ]  # fmt: skip
    last = len(timed) - 1
    slider = single("input", type="range", min=0, max=last, value=last, id="walk", class_="walk")
    return element(
        "div",
        element("span", *buttons, role="group", aria_label="horizontal axis"),
        element("label", "walk along the run ", slider, for_="walk"),
        element("output", "", class_="moment", for_="walk"),
        class_="controls",
    )


def _data(timed: pd.DataFrame) -> Markup:
    """Step and time of every point, for the script."""
    known: dict[str, Any] = {
        "step": [int(step) for step in timed["step"]],
        "seconds": [round(float(at), 3) for at in timed["seconds"]],
    }
    content = json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(content), type="application/json", id="moments")
