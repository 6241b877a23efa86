"""Worst cases by the names that ``problem.worst_case`` takes.

A new worst case is a file in this folder and a line in `WORST_CASES`.
"""

from collections.abc import Callable

from idbpd.mtl.worst_cases.penalty import Penalty
from idbpd.mtl.worst_cases.protocol import WorstCase, WorstWeighting, values_at, worst_values_of_draws, worst_weighting

WORST_CASES: dict[str, Callable[..., WorstCase]] = {
    "penalty": Penalty,
}

__all__ = [
    "WORST_CASES",
    "Penalty",
    "WorstCase",
    "WorstWeighting",
    "values_at",
    "worst_values_of_draws",
    "worst_weighting",
]
