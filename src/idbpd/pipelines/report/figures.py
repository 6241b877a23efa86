"""The paper's figures: each residual of each method, over its steps and over time."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.pipelines.report.curves import curve
from idbpd.pipelines.report.looks import look_of, methods_in, title
from idbpd.pipelines.report.profile import TESTS, profiles

# Smaller residuals are drawn at this value: a logarithmic axis must end somewhere.
FLOOR = 1e-6
# Judged with the best multiplier, which is the same rule for methods with and without a multiplier of their own.
STATIONARITY, SLACKNESS = "best_stationarity", "best_slackness"
# The figures of a data set by the name that a method's entry gives (`MethodEntry.figures`), with what they show.
EXPERIMENTS = {
    "kkt": {STATIONARITY: "stationarity", "infeasibility": "infeasibility", SLACKNESS: "slackness"},
    "weights": {STATIONARITY: "stationarity", "infeasibility": "infeasibility", "objective": "objective"},
}
RATIO_LIMIT = 1000.0
AXES = {"step": "iterations", "seconds": "seconds"}

Histories = dict[str, list[pd.DataFrame]]


def draw_figures(cells: list[BenchmarkCell]) -> dict[str, Figure]:
    """Two figures per data set and setting, and the performance profiles, by file name."""
    by_place: dict[tuple[str, str], Histories] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if not cell.failed:
            by_place[cell.tags["dataset"], cell.tags["setting"]][cell.tags["method"]].append(cell.history)
    figures = {"profiles.svg": _draw_profiles(cells)}
    for (dataset, setting), histories in by_place.items():
        for experiment in EXPERIMENTS:
            name = f"{dataset}_{setting}_{experiment}.svg"
            figures[name] = _draw(f"{title(dataset)}, {setting}", experiment, histories)
    return figures


def _draw_profiles(cells: list[BenchmarkCell]) -> Figure:
    """In what share of all problems each method was within a factor of the fastest."""
    settings = list(dict.fromkeys(cell.tags["setting"] for cell in cells))
    figure = Figure(figsize=(9.5, 0.6 + 2.9 * len(settings)), layout="constrained")
    for row, setting in zip(figure.subplots(len(settings), len(TESTS), squeeze=False), settings, strict=True):
        found = profiles([cell for cell in cells if cell.tags["setting"] == setting])
        for axes, (test, words) in zip(row, TESTS.items(), strict=True):
            for method, ratios in found[test].items():
                look, finite = look_of(method), np.sort(ratios[np.isfinite(ratios)])
                share = np.arange(1, len(finite) + 1) / len(ratios)
                axes.step(
                    [1, *finite, RATIO_LIMIT],
                    [0, *share, share[-1] if len(share) else 0],
                    where="post",
                    color=look.color,
                    linestyle=look.dashes,
                    linewidth=look.width,
                    label=look.label,
                )
            axes.set(xscale="log", xlim=(1, RATIO_LIMIT), ylim=(-0.03, 1.03), title=f"{setting}: {words}")
            axes.set(xlabel="time, as a multiple of the fastest method's")
        row[0].set_ylabel("share of problems")
    _legend(figure, figure.axes[0])
    return figure


def _draw(name: str, experiment: str, histories: Histories) -> Figure:
    quantities = EXPERIMENTS[experiment]
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
    grid = figure.subplots(len(AXES), len(quantities), sharey="col")
    for row, (over, label) in zip(grid, AXES.items(), strict=True):
        for axes, (quantity, words) in zip(row, quantities.items(), strict=True):
            for method in methods_in(experiment, histories):
                _plot(axes, histories[method], method, quantity, over)
            axes.set(xscale="log", yscale="log", xlabel=label)
            if quantity == "objective":  # less than a decade: powers of ten would be one tick, or none
                axes.yaxis.set_major_formatter(_plain)
                axes.yaxis.set_minor_formatter(_plain)
            else:
                axes.yaxis.minorticks_off()
            axes.xaxis.minorticks_off()
            axes.grid(visible=True, linewidth=0.3)
            if over == "step":
                axes.set_title(words)
    figure.suptitle(name, fontsize=11)
    _legend(figure, grid[0][0])
    return figure


def _plot(axes: Axes, histories: Sequence[pd.DataFrame], method: str, quantity: str, over: str) -> None:
    found = curve(histories, quantity, over)
    if not len(found.at):
        return
    look = look_of(method)
    line = found.median.clip(min=FLOOR)
    axes.plot(found.at, line, color=look.color, linestyle=look.dashes, linewidth=look.width, label=look.label)
    if len(histories) > 1:
        low, high = found.low.clip(min=FLOOR), found.high.clip(min=FLOOR)
        axes.fill_between(found.at, low, high, color=look.color, alpha=0.15, linewidth=0)


def _plain(value: float, position: int | None) -> str:  # noqa: ARG001 - as matplotlib calls it
    return f"{value:g}"


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles, labels, loc="outside lower center", ncols=min(5, len(handles)), fontsize=8, frameon=False
        )
