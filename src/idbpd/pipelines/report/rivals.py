"""Which method is best over a whole benchmark, and whether that is more than chance.

A problem is a data set in a setting with a seed. The method that has the lowest objective among feasible iterates in
most problems is compared with each other one, problem by problem, by the sign test.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr

from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.pipelines.report.tables import as_frame

PROBLEM = ["dataset", "setting", "seed"]
CONFIDENCE = 0.95


class Duel(NamedTuple):
    """The best method next to another one."""

    rival: str
    wins: int
    losses: int
    ties: int
    is_sure: bool


class Standings(NamedTuple):
    """The best method and its duels, those with the most losses first."""

    best: str
    level: list[str]  # others that are first in as many problems
    first: int  # problems in which no method is better
    problems: int
    duels: list[Duel]

    @property
    def ahead(self) -> str | None:
        """The method that is first most often; None where several are."""
        return None if self.level and not self.is_sure else self.best

    @property
    def is_sure(self) -> bool:
        """Whether it is better than every other method by more than chance."""
        return all(duel.is_sure and duel.wins > duel.losses for duel in self.duels)


def standings(cells: Sequence[BenchmarkCell]) -> Standings | None:
    """The standings of all methods; None where there is one only."""
    frame = as_frame(cells)
    frame["objective"] = frame["lowest_feasible_objective"].fillna(np.inf)
    table = frame.pivot_table("objective", PROBLEM, "method", aggfunc="first", dropna=False)
    if len(table.columns) < 2:
        return None
    first = {str(method): sum(_is_first(row, str(method)) for _, row in table.iterrows()) for method in table.columns}
    best = max(first, key=lambda method: first[method])
    level = [method for method in first if method != best and first[method] == first[best]]
    duels = [_duel(table, best, str(rival), len(table.columns) - 1) for rival in table.columns if rival != best]
    return Standings(best, level, first[best], len(table), sorted(duels, key=lambda duel: duel.wins - duel.losses))


def _is_first(row: "pd.Series[float]", method: str) -> bool:
    own = row[method]
    return math.isfinite(own) and not any(_is_lower(other, own) for other in row.dropna())


def _duel(table: pd.DataFrame, best: str, rival: str, comparisons: int) -> Duel:
    both = table[[best, rival]].dropna()
    wins = sum(_is_lower(own, other) for own, other in both.itertuples(index=False))
    losses = sum(_is_lower(other, own) for own, other in both.itertuples(index=False))
    # The chance of so few losses, or fewer, if either were equally likely to be ahead; all rivals at once (Bonferroni).
    chance = float(bdtr(losses, wins + losses, 0.5)) if wins + losses else 1.0
    sure = chance < (1 - CONFIDENCE) / comparisons
    return Duel(rival, wins, losses, len(both) - wins - losses, sure)


def _is_lower(one: float, other: float) -> bool:
    """Lower by more than a difference that does not count."""
    if not math.isfinite(one):
        return False
    return other - one > max(1e-4, 1e-3 * abs(one)) if math.isfinite(other) else True
