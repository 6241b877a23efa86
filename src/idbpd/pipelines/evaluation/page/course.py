"""How training went: curves over steps and over seconds that a reader can walk along."""

import math

import numpy as np
import pandas as pd

from idbpd.experiment.page.curve_chart import Axis, Curve, Panel, curve_section, series
from idbpd.experiment.page.markup import Markup, element, joined, name, table, whole
from idbpd.pipelines.evaluation.page.facts import Facts

POINTS = 200  # of a curve: more than a panel has pixels for
TIMES = {"step": "step", "seconds": "time in s"}
RESIDUALS = {
    "stationarity": "how far the weights are from a point where no small step improves the objective within the limits",
    "infeasibility": "by how much the worst limit is violated on the training data",
    "slackness": "zero where every limit is either exactly reached or has the multiplier zero",
}


def course(facts: Facts) -> Markup:
    """The section."""
    timed = _thinned(facts.history.merge(facts.clock, on="step", how="left"))
    outcome = facts.outcome
    ended = f"{outcome['method']}: {outcome['status']}" if "method" in outcome else str(outcome["status"])
    reason = f" ({outcome['reason']})" if outcome.get("reason") else ""
    opening = element("p", f"{ended} after {outcome['steps']} steps, {outcome['seconds']:.1f} s{reason}.")
    moments = [
        f"step {int(step)}, {round(float(at), 3)} s" for step, at in zip(timed["step"], timed["seconds"], strict=True)
    ]
    horizontal = [Axis(time, title, timed[time].tolist(), moments) for time, title in TIMES.items()]
    return curve_section(
        "training", "How training went", opening, _panels(facts, timed), horizontal, certificate(facts)
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


def _panels(facts: Facts, timed: pd.DataFrame) -> list[Panel]:
    unit = f" in {facts.unit(facts.priority)}" if facts.unit(facts.priority) else ""
    share = ", a share of the other tasks" if facts.beyond_limits else ""
    first = _curve(f"worst-case loss{unit}, with weight decay{share}", timed["objective"])
    panels = [Panel(joined([name(facts.priority), ": what is minimised"]), [first])]
    for task in facts.limited:
        column = f"constraint_{task}" if len(facts.limited) > 1 else "constraint"
        threshold = float(facts.certificate["tasks"][task]["threshold"])
        unit = f" in {facts.unit(task)}" if facts.unit(task) else ""
        curve = _curve(f"worst-case loss{unit}", timed[column] + threshold)
        panels.append(Panel(joined([name(task), ": what keeps a limit"]), [curve], threshold))
    residuals = [_curve(residual, timed[residual], at) for at, residual in enumerate(RESIDUALS)]
    return [*panels, Panel("KKT residuals: how close to done", residuals, _tolerance(facts), "tolerance", log=True)]


def _curve(title: str, values: pd.Series, at: int = 0) -> Curve:
    numbers = values.tolist()
    return Curve(title, series(at), dict.fromkeys(TIMES, numbers))


def _tolerance(facts: Facts) -> float | None:
    tolerance = facts.parameters.get("training", {}).get("tolerance")
    return float(tolerance) if tolerance is not None else None
