"""Figures, for those who would rather look than read."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

RESIDUALS = ("stationarity", "infeasibility", "slackness")
# Below this a residual is zero for every purpose; a logarithmic axis must end somewhere.
FLOOR = 1e-10
PART_COLOURS = {"train": "C0", "test": "C1"}
BINS = 50


def draw_kkt_curves(history: pd.DataFrame, clock: pd.DataFrame, certificate: dict[str, Any]) -> Figure:
    """The three residuals, and the objective and the losses with their thresholds: over steps and over seconds."""
    timed = history.merge(clock, on="step", how="left")
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2, sharey="row", sharex="col")
    for column, (time, label) in enumerate((("step", "step"), ("seconds", "time [s]"))):
        residuals, losses = axes[0, column], axes[1, column]
        for residual in RESIDUALS:
            residuals.semilogy(timed[time], timed[residual].clip(lower=FLOOR), linewidth=1, label=residual)
        _draw_losses(losses, timed, time, certificate["tasks"])
        losses.set_xlabel(label)
    axes[0, 0].set(title="KKT residuals", ylabel=f"residual (floor {FLOOR:g})")
    axes[1, 0].set(title="What is minimised, and what is kept", ylabel="loss [nats]")
    axes[0, 0].legend()
    axes[1, 0].legend()
    return figure


def _draw_losses(axes: Axes, timed: pd.DataFrame, time: str, tasks: Mapping[str, Mapping[str, float]]) -> None:
    axes.plot(timed[time], timed["objective"], label="objective f")
    for name, record in tasks.items():
        threshold, column = record["threshold"], f"constraint_{name}" if len(tasks) > 1 else "constraint"
        (line,) = axes.plot(timed[time], timed[column] + threshold, label=f"worst-case loss of the {name} task")
        axes.axhline(
            threshold, color=line.get_color(), linestyle="--", linewidth=1, label=f"its threshold r = {threshold:.4f}"
        )


def draw_losses_by_task(
    losses: Mapping[str, Mapping[str, Tensor]],
    worst_cases: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, float],
) -> Figure:
    """How the losses of the samples are distributed, by part ("train", "test") and task, with worst case and limit."""
    tasks = list(next(iter(losses.values())))
    figure = Figure(figsize=(5.5 * len(tasks), 4), layout="constrained")
    for axes, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        largest = max(float(part[task].max()) for part in losses.values())
        edges = np.linspace(0, largest, BINS + 1)
        for part, by_task in losses.items():
            values, colour = by_task[task].cpu().numpy(), PART_COLOURS[part]
            share = np.full(len(values), 100 / len(values))
            axes.hist(
                values, edges, weights=share, histtype="stepfilled", alpha=0.35, color=colour, label=f"{part} samples"
            )
            worst = worst_cases[part][task]
            axes.axvline(worst, color=colour, label=f"{part}: worst-case loss {worst:.3f}")
        if task in thresholds:
            limit = thresholds[task]
            axes.axvline(limit, color="black", linestyle="--", label=f"threshold r = {limit:.3f}")
        axes.set(yscale="log", title=f"{task} task", xlabel="loss of a sample [nats]", ylabel="samples [%]")
        axes.legend()
    return figure


def draw_weights_by_task(weights: Mapping[str, Tensor]) -> Figure:
    """The weights that the worst case gives to the samples of each task, the largest first; 1 is an equal share."""
    figure = Figure(figsize=(5.5 * len(weights), 4), layout="constrained")
    for axes, (task, worst) in zip(figure.subplots(1, len(weights), squeeze=False)[0], weights.items(), strict=True):
        n, support = len(worst), int((worst > 0).sum())
        shares = n * worst.sort(descending=True).values.cpu().numpy()
        axes.fill_between(np.arange(1, n + 1), shares, step="mid", alpha=0.35, color="C0")
        axes.plot(np.arange(1, n + 1), shares, color="C0", label="weight in the worst case")
        axes.axhline(1, color="grey", linestyle=":", label="equal weights")
        axes.axvline(support, color="C3", linestyle="--", label=f"{support} of {n} samples carry weight")
        axes.set(title=f"{task} task", xlabel="samples, by weight", ylabel="weight x number of samples")
        axes.set_xlim(0, n)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
