"""Performance profiles (Dolan and Moré, 2002): how often a method is the fastest, and how often it succeeds at all."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from idbpd.experiment.tracked.benchmark_results import BenchmarkCell

Ratios = NDArray[np.float64]

# A test is passed when at most this share of the way from the start to the best feasible objective is left.
PART_OF_THE_WAY = 0.05
RESIDUAL = 1e-2
TESTS = {
    "objective": f"feasible, and within {PART_OF_THE_WAY:.0%} of the best",
    "residual": f"worst KKT residual at most {RESIDUAL:g}",
}


def profiles(cells: Sequence[BenchmarkCell]) -> dict[str, dict[str, Ratios]]:
    """Per test and method: the time to pass it, over that of the fastest method, on every problem.

    A problem is a data set in a setting with a seed. The ratio is infinite where the method never passed. Where no
    method passed, the problem counts as unsolved for all of them.
    """
    problems: dict[tuple[str, ...], dict[str, BenchmarkCell]] = defaultdict(dict)
    for cell in cells:
        problems[tuple(cell.tags[name] for name in ("dataset", "setting", "seed"))][cell.tags["method"]] = cell
    methods = list(dict.fromkeys(cell.tags["method"] for cell in cells))
    found: dict[str, dict[str, list[float]]] = {test: {method: [] for method in methods} for test in TESTS}
    for by_method in problems.values():
        for test in TESTS:
            times = _times(by_method, test)
            fastest = min(times.values())
            for method in methods:
                time = times.get(method, np.inf)
                # The start passed the test already: all methods were equally fast.
                ratio = 1.0 if time == 0 else time / fastest if fastest > 0 else np.inf
                found[test][method].append(ratio if np.isfinite(time) else np.inf)
    return {test: {method: np.array(ratios) for method, ratios in of.items()} for test, of in found.items()}


def _times(cells: Mapping[str, BenchmarkCell], test: str) -> dict[str, float]:
    good = {method: cell.history for method, cell in cells.items() if not cell.failed and len(cell.history)}
    if test == "residual":
        return {method: _first(history, _worst(history) <= RESIDUAL) for method, history in good.items()} or {
            "": np.inf
        }
    lowest = [cells[method].metrics.get("lowest_feasible_objective", np.inf) for method in good]
    best = min(lowest, default=np.inf)
    if not np.isfinite(best):
        return dict.fromkeys(good, np.inf) or {"": np.inf}
    times = {}
    for method, history in good.items():
        start = history["objective"].iloc[0]
        target = best + PART_OF_THE_WAY * max(start - best, abs(best) * PART_OF_THE_WAY)
        reached = _column(history, "feasible_objective") <= target
        times[method] = _first(history, reached)
    return times


def _worst(history: pd.DataFrame) -> pd.Series:
    names = ["best_stationarity", "infeasibility", "best_slackness"]
    return history[names].max(axis=1, skipna=False)


def _column(history: pd.DataFrame, name: str) -> pd.Series:
    """A column of the history; it is missing there when no step had a value for it."""
    return history[name] if name in history else pd.Series(np.nan, index=history.index)


def _first(history: pd.DataFrame, passed: pd.Series) -> float:
    return float(history["seconds"][passed].iloc[0]) if passed.any() else np.inf
