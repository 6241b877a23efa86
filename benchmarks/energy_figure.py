"""The results of `benchmarks.energy_budget` as a table and a figure, with errors over the seeds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

Row = Mapping[str, Any]
METHODS = {"budget": ("under the budget", "#1f6f8b", "o"), "magnitude": ("magnitude pruning", "#c8553d", "s")}


def of(rows: Sequence[Row], **key: Any) -> list[Row]:
    """The rows with these values, by seed."""
    found = [row for row in rows if all(row[name] == value for name, value in key.items())]
    return sorted(found, key=lambda row: int(row["seed"]))


def print_table(rows: Sequence[Row]) -> None:
    """A row per data set, network and budget: means over the seeds, ours then theirs, and the paired difference.

    Differences are ours minus theirs, of worst-case losses and of mean losses.
    """
    names = ["data, seeds", "budget"]
    for task in ("priority", "limited"):
        names += [f"{task}, worst", "difference", "of means"]
    print(f"\n| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    for dataset, network in dict.fromkeys((row["dataset"], row["network"]) for row in rows):
        for budget in sorted({row["budget"] for row in rows}, reverse=True):
            pair = [of(rows, dataset=dataset, network=network, budget=budget, method=method) for method in METHODS]
            seeds = [{row["seed"] for row in one} for one in pair]
            common = seeds[0] & seeds[1]
            ours, theirs = ([row for row in one if row["seed"] in common] for one in pair)
            if not common:
                continue
            tasks = list(ours[0]["tasks"])[:2]
            name = dataset.removeprefix("multi_").removesuffix("_14") + ("" if network == "mlp" else f" {network}")
            cells = [f"{name}, {len(common)}", f"{budget:g}"]
            for task in tasks:
                a, b = (_numbers(one, task, "worst") for one in (ours, theirs))
                cells += [f"{a.mean():.3f}, {b.mean():.3f}", _difference(a, b)]
                cells.append(_difference(_numbers(ours, task, "mean"), _numbers(theirs, task, "mean")))
            print(f"| {' | '.join(cells)} |")


def _numbers(rows: Sequence[Row], task: str, measure: str) -> np.ndarray:
    return np.array([row["tasks"][task][measure] for row in rows])


def _difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    error = f" ± {_error(ours - theirs):.3f}" if len(ours) > 1 else ""
    return f"{(ours - theirs).mean():+.3f}{error}"


def draw(rows: Sequence[Row], path: Path) -> None:
    """A column per data set and network: worst-case and mean loss of both tasks against the budget.

    Each loss is shown above that of magnitude pruning with the largest budget, of the same seed. The splits differ by
    more than the methods, so that the errors of the losses themselves would hide how far those are apart.
    """
    kinds = list(dict.fromkeys((row["dataset"], row["network"]) for row in rows))
    tasks = list(rows[0]["tasks"])
    budgets_of_all = sorted({row["budget"] for row in rows})
    names = [(task, measure) for task in tasks for measure in ("worst", "mean")]
    figure, axes = plt.subplots(
        len(names), len(kinds), figsize=(3.6 * len(kinds) + 0.6, 2.3 * len(names)), sharex=True, squeeze=False
    )
    for column, (dataset, network) in enumerate(kinds):
        here = of(rows, dataset=dataset, network=network)
        for row, (task, measure) in enumerate(names):
            axis = axes[row, column]
            for method, (label, colour, marker) in METHODS.items():
                budgets = sorted({one["budget"] for one in here if one["method"] == method})
                values = [
                    _numbers(of(here, budget=budget, method=method), task, measure)
                    - _numbers(_largest(here, of(here, budget=budget, method=method)), task, measure)
                    for budget in budgets
                ]
                axis.errorbar(
                    budgets,
                    [value.mean() for value in values],
                    yerr=[_error(value) for value in values],
                    label=label,
                    color=colour,
                    marker=marker,
                    markersize=4,
                    capsize=3,
                    linewidth=1.2,
                )
            axis.set_xscale("log")
            axis.grid(alpha=0.3)
            if column == 0:
                axis.set_ylabel(f"{task},\n{'worst-case' if measure == 'worst' else measure} loss added")
        axes[0, column].set_title(f"{dataset}, {network} ({len({one['seed'] for one in here})} seeds)", fontsize=9)
        axes[-1, column].set_xlabel("share of the dense network's energy")
        axes[-1, column].set_xticks(budgets_of_all)
        axes[-1, column].set_xticklabels([f"{one:g}" for one in budgets_of_all])
        axes[-1, column].minorticks_off()
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _largest(here: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Magnitude pruning with the largest budget, for the seeds of these rows."""
    budget, seeds = max(row["budget"] for row in here), {row["seed"] for row in rows}
    return [row for row in of(here, budget=budget, method="magnitude") if row["seed"] in seeds]


def _error(values: np.ndarray) -> float:
    """The standard error of a mean; of one seed, none is known."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
