"""Figures, for those who would rather look than read."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

RESIDUALS = ("stationarity", "infeasibility", "slackness")
# Below this a residual is zero for every purpose; a logarithmic axis must end somewhere.
FLOOR = 1e-10


def draw_kkt_curves(history: pd.DataFrame, certificate: dict[str, Any]) -> Figure:
    """The three residuals over the steps, and the losses with their thresholds."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for residual in RESIDUALS:
        left.semilogy(history["step"], history[residual].clip(lower=FLOOR), label=residual)
    left.set(title="KKT residuals", xlabel="step", ylabel=f"residual (floor {FLOOR:g})")
    left.legend()
    right.plot(history["step"], history["objective"], label="objective f")
    tasks = certificate["tasks"]
    for name, record in tasks.items():
        threshold, column = record["threshold"], f"constraint_{name}" if len(tasks) > 1 else "constraint"
        (line,) = right.plot(history["step"], history[column] + threshold, label=f"worst-case loss of the {name} task")
        right.axhline(
            threshold, color=line.get_color(), linestyle="--", linewidth=1, label=f"its threshold r = {threshold:.4f}"
        )
    right.set(title="What is minimised, and what is kept", xlabel="step")
    right.legend()
    return figure
