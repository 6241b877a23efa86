"""Worst cases by the names that ``problem.worst_case`` takes.

A new worst case is a file in this folder and a line in `WORST_CASES`.
"""

from collections.abc import Callable

from idbpd.mtl.worst_cases.chi_square import ChiSquare
from idbpd.mtl.worst_cases.groups import GroupMixture, Groups
from idbpd.mtl.worst_cases.kullback_leibler import KullbackLeibler
from idbpd.mtl.worst_cases.mean import Mean
from idbpd.mtl.worst_cases.penalty import Penalty
from idbpd.mtl.worst_cases.protocol import (
    NeedsTask,
    WorstCase,
    WorstWeighting,
    values_at,
    worst_case_for,
    worst_values_of_draws,
    worst_weighting,
)
from idbpd.mtl.worst_cases.share import Share

WORST_CASES: dict[str, Callable[..., WorstCase | NeedsTask]] = {
    "share": Share,
    "groups": Groups,
    "chi2": ChiSquare,
    "kl": KullbackLeibler,
    "penalty": Penalty,
    "mean": Mean,
}

__all__ = [
    "WORST_CASES",
    "ChiSquare",
    "GroupMixture",
    "Groups",
    "KullbackLeibler",
    "Mean",
    "NeedsTask",
    "Penalty",
    "Share",
    "WorstCase",
    "WorstWeighting",
    "values_at",
    "worst_case_for",
    "worst_values_of_draws",
    "worst_weighting",
]
