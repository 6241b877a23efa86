"""The figures of a run."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from idbpd.experiment.shown import loss_label
from idbpd.pipelines.evaluation.loss_bins import LossBins, loss_bins

RESIDUALS = ("stationarity", "infeasibility", "slackness")
# A residual below this is drawn as this: a logarithmic axis has no zero.
FLOOR = 1e-10
# Residuals jump from step to step, so the largest of each window is drawn; so many windows per run.
WINDOWS = 150
MOST_POINTS = 10_000  # of a curve: it has fewer pixels
PART_COLOURS = {"train": "C0", "test": "C1"}


def draw_kkt_curves(
    history: pd.DataFrame, clock: pd.DataFrame, certificate: dict[str, Any], comparison: pd.DataFrame
) -> Figure:
    """The three residuals, and the objective and the losses with their thresholds: over steps and over seconds."""
    units = dict(zip(comparison["task"].astype(str), comparison["loss_unit"].fillna(""), strict=True))
    timed = history.merge(clock, on="step", how="left")
    length = math.ceil(len(timed) / WINDOWS)
    windows = timed.groupby(np.arange(len(timed)) // length).max()
    figure = Figure(figsize=(13, 7), layout="constrained")
    axes = figure.subplots(2, 2, sharey="row", sharex="col")
    for column, (time, label) in enumerate((("step", "step"), ("seconds", "time [s]"))):
        residuals, losses = axes[0, column], axes[1, column]
        for residual in RESIDUALS:
            residuals.semilogy(windows[time], windows[residual].clip(lower=FLOOR), label=residual)
        _draw_losses(losses, timed, time, certificate["tasks"], units)
        losses.set_xlabel(label)
    of_each = f", largest of each {length} steps" if length > 1 else ""
    axes[0, 0].set(title=f"KKT residuals{of_each}", ylabel="residual")
    axes[1, 0].set(title="What is minimised, and what is kept", ylabel=loss_label(units.values()))
    for row in axes:
        row[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure


def _draw_losses(
    axes: Axes, timed: pd.DataFrame, time: str, tasks: Mapping[str, Mapping[str, float]], units: Mapping[str, str]
) -> None:
    # Where tasks have losses of different units, each curve says its own.
    unit = {task: f" [{unit}]" if unit and len({*units.values()}) > 1 else "" for task, unit in units.items()}
    priority = next((task for task in units if task not in tasks), "")
    axes.plot(timed[time], timed["objective"], color="C3", label=f"objective f{unit.get(priority, '')}")
    for at, (name, record) in enumerate(tasks.items(), start=len(RESIDUALS) + 1):
        threshold, column = record["threshold"], f"constraint_{name}" if len(tasks) > 1 else "constraint"
        losses = timed[column] + threshold
        axes.plot(timed[time], losses, color=f"C{at}", label=f"worst-case loss,\n{name} task{unit.get(name, '')}")
        axes.axhline(threshold, color=f"C{at}", linestyle="--", linewidth=1, label=f"its threshold {threshold:.4f}")


def draw_losses_by_task(
    losses: Mapping[str, Mapping[str, Tensor]],
    worst_cases: Mapping[str, Mapping[str, float]],
    thresholds: Mapping[str, float],
    units: Mapping[str, str],
) -> Figure:
    """How the losses of the samples are distributed, by part ("train", "test") and task, with worst case and limit."""
    tasks = list(next(iter(losses.values())))
    figure = Figure(figsize=(5.5 * len(tasks), 4.8), layout="constrained")
    for axes, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        of_parts = {part: by_task[task].cpu().double().numpy() for part, by_task in losses.items()}
        bins = loss_bins(np.concatenate(list(of_parts.values())))
        for part, loss in of_parts.items():
            colour = PART_COLOURS[part]
            # Counted before they are drawn: a histogram of counts is the same picture, whatever their number.
            values = bins.placed(loss)
            share = np.histogram(values, bins.edges)[0] * (100 / max(len(values), 1))
            filled = {"histtype": "stepfilled", "alpha": 0.35} if part == "train" else {"histtype": "step"}
            middles = (bins.edges[:-1] + bins.edges[1:]) / 2
            axes.hist(middles, bins.edges, weights=share, color=colour, label=f"{part} samples", **filled)
            worst = worst_cases[part][task]
            _mark(axes, bins, worst, f"{part}: worst-case loss {worst:.4g}", color=colour)
        if task in thresholds:
            limit = thresholds[task]
            _mark(axes, bins, limit, f"threshold r = {limit:.4g}", color="black", linestyle="--")
        axes.set(yscale="log", xscale=bins.scale, title=f"{task} task", ylabel="samples [%]")
        axes.set_xlabel(loss_label([units[task]]).replace("loss", "loss of a sample"))
        # From half of one sample, so that each can be seen. The legend is below: bars may be anywhere.
        axes.set_ylim(50 / max(len(loss) for loss in of_parts.values()), 150)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize="small")
    return figure


def _mark(axes: Axes, bins: LossBins, value: float, label: str, **style: Any) -> None:
    """A vertical line; one so far away that it would press all bars together is only told of."""
    first, last = bins.edges[0], bins.edges[-1]
    if first - (last - first) <= value <= last + (last - first):
        axes.axvline(value, label=label, **style)
    else:
        axes.plot([], [], label=f"{label}, far {'right' if value > last else 'left'}", **style)


def draw_weights_by_task(weights: Mapping[str, Tensor]) -> Figure:
    """The weights that the worst case gives to the samples of each task, the largest first; 1 is an equal share."""
    figure = Figure(figsize=(5.5 * len(weights), 4), layout="constrained")
    for axes, (task, worst) in zip(figure.subplots(1, len(weights), squeeze=False)[0], weights.items(), strict=True):
        n, support = len(worst), int((worst > 0).sum())
        places = np.unique(np.linspace(1, n, min(n, MOST_POINTS)).round().astype(int))
        shares = n * worst.sort(descending=True).values.cpu().numpy()[places - 1]
        axes.fill_between(places, shares, step="mid", alpha=0.35, color="C0")
        axes.plot(places, shares, color="C0", label="weight in the worst case")
        axes.axhline(1, color="grey", linestyle=":", label="equal weights")
        axes.axvline(support, color="C3", linestyle="--", label=f"{support} of {n} samples carry weight")
        axes.set(title=f"{task} task", xlabel="samples, by weight", ylabel="weight x number of samples")
        axes.set_xlim(0, n)
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
