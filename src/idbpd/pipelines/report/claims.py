"""The paper's claims about its experiments, each with the measurement that decides it.

All are judged in the paper's own setting, data set by data set, on medians over the seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from idbpd.experiment.tracked.benchmark_results import BenchmarkCell
from idbpd.pipelines.report.tables import over_seeds

PAPER = "paper"
# A residual has converged when it is at most the first; a violation counts as none when it is at most the second.
CONVERGED, FEASIBLE = 1e-2, 1e-4
# An objective within this factor of the best is competitive.
COMPETITIVE = 1.05
# A curve that rises by this factor above its lowest value so far is not stable.
UNSTABLE = 3.0
THE_SAME = "the same, of this project's solver"  # as the claim above
GDMA = ("gdma_rho1", "gdma_rho2", "gdma_rho5", "gdma_rho10")


class Verdict(NamedTuple):
    """Whether a claim holds on a data set, and the number that says so."""

    holds: bool
    number: str


class Claim(NamedTuple):
    """A sentence of the paper, and how it is decided here."""

    source: str
    words: str
    rule: str
    judge: Callable[["Evidence"], Verdict]
    needs: tuple[str, ...]


class Evidence(NamedTuple):
    """What was measured on one data set."""

    table: pd.DataFrame  # by method
    histories: Mapping[str, Sequence[pd.DataFrame]]

    def number(self, method: str, name: str) -> float:
        """A median over the seeds."""
        return float(self.table[name].to_dict()[method])

    def start(self, method: str, quantity: str) -> float:
        """The median of a quantity at the first step."""
        return float(np.median([history[quantity].dropna().iloc[0] for history in self.histories[method]]))

    def end(self, method: str, quantity: str) -> float:
        """The median of a quantity at the last step at which it was measured."""
        return float(np.median([history[quantity].dropna().iloc[-1] for history in self.histories[method]]))

    def rise(self, method: str, quantity: str) -> float:
        """By which factor a quantity rises above its lowest value so far, in the second half of the run."""
        return float(np.median([_rise(history[quantity].dropna()) for history in self.histories[method]]))


def _rise(values: pd.Series) -> float:
    rises = (values / values.cummin().clip(lower=FEASIBLE))[len(values) // 2 :]
    return float(rises.max())


def judged(cells: Sequence[BenchmarkCell]) -> dict[Claim, dict[str, Verdict]]:
    """Every claim on every data set on which the methods that it needs were run."""
    evidence = _evidence([cell for cell in cells if cell.tags["setting"] == PAPER and not cell.failed])
    return {
        claim: {
            dataset: claim.judge(found)
            for dataset, found in evidence.items()
            if all(method in found.histories for method in claim.needs)
        }
        for claim in CLAIMS
    }


def _evidence(cells: Sequence[BenchmarkCell]) -> dict[str, Evidence]:
    found = {}
    for dataset in dict.fromkeys(cell.tags["dataset"] for cell in cells):
        here = [cell for cell in cells if cell.tags["dataset"] == dataset]
        histories: dict[str, list[pd.DataFrame]] = {}
        for cell in here:
            histories.setdefault(cell.tags["method"], []).append(cell.history)
        found[dataset] = Evidence(over_seeds(here).set_index("method"), histories)
    return found


def _converges(method: str) -> Callable[[Evidence], Verdict]:
    def judge(found: Evidence) -> Verdict:
        residual = found.number(method, "residual")
        return Verdict(residual <= CONVERGED, f"{residual:.1e}")

    return judge


def _feasible(method: str) -> Callable[[Evidence], Verdict]:
    def judge(found: Evidence) -> Verdict:
        least = found.number(method, "infeasibility")
        return Verdict(least <= FEASIBLE, f"{least:.1e}")

    return judge


def _does_not_reduce_infeasibility(found: Evidence) -> Verdict:
    first, last = (at("discretization_cooper", "infeasibility") for at in (found.start, found.end))
    return Verdict(last >= 0.5 * first, f"{first:.2g} to {last:.1e}")


def _diverges_in_stationarity(found: Evidence) -> Verdict:
    first, last = (at("discretization_cooper", "stationarity") for at in (found.start, found.end))
    return Verdict(last > first, f"{first:.2g} to {last:.1e}")


def _low_stationarity_but_infeasible(found: Evidence) -> Verdict:
    stationarity, violation = (found.end("gdma_rho1", name) for name in ("stationarity", "infeasibility"))
    holds = stationarity <= CONVERGED and violation > FEASIBLE
    return Verdict(holds, f"{stationarity:.1e}, violation {violation:.1e}")


def _unstable(found: Evidence) -> Verdict:
    rise = found.rise("gdma_rho10", "stationarity")
    return Verdict(rise >= UNSTABLE, f"x {rise:.1f}")


def _needs_large_weights(found: Evidence) -> Verdict:
    least = [found.number(method, "infeasibility") for method in GDMA]
    falls = least[-1] < least[0]
    return Verdict(falls, ", ".join(f"{value:.1e}" for value in least))


def _outperforms(method: str) -> Callable[[Evidence], Verdict]:
    def judge(found: Evidence) -> Verdict:
        others = {name: found.number(name, "residual") for name in (*GDMA, "discretization_cooper")}
        best = min(others, key=lambda name: others[name])
        own = found.number(method, "residual")
        return Verdict(own < others[best], f"{own:.1e} against {others[best]:.1e} ({best})")

    return judge


def _competitive(method: str) -> Callable[[Evidence], Verdict]:
    def judge(found: Evidence) -> Verdict:
        objectives = found.table["objective"]
        best, own = float(objectives.min()), found.number(method, "objective")
        if not np.isfinite(best):
            return Verdict(False, "no method was feasible")
        text = f"{own:.3f}" if np.isfinite(own) else "never feasible"
        return Verdict(own <= COMPETITIVE * best, f"{text} against {best:.3f} ({objectives.idxmin()})")

    return judge


_ALL = ("idbpd", "idbpd_paper", "discretization_cooper", *GDMA)
CLAIMS = (
    Claim(
        "Experiment 1",
        "iDB-PD consistently achieves convergence in infeasibility, stationarity and slackness",
        f"`idbpd_paper`: worst of the three at one iterate at most {CONVERGED:g}",
        _converges("idbpd_paper"),
        ("idbpd_paper",),
    ),
    Claim(
        "Experiment 1",
        THE_SAME,
        f"`idbpd`: worst of the three at one iterate at most {CONVERGED:g}",
        _converges("idbpd"),
        ("idbpd",),
    ),
    Claim(
        "Experiment 1",
        "adaptive discretization fails to reduce infeasibility",
        "violation at the end at least half of that at the start",
        _does_not_reduce_infeasibility,
        ("discretization_cooper",),
    ),
    Claim(
        "Experiment 1",
        "adaptive discretization diverges in stationarity",
        "stationarity with Cooper's multipliers is higher at the end than at the start",
        _diverges_in_stationarity,
        ("discretization_cooper",),
    ),
    Claim(
        "Experiment 2",
        "iDB-PD converges in feasibility",
        f"`idbpd_paper`: violation at most {FEASIBLE:g} at some iterate",
        _feasible("idbpd_paper"),
        ("idbpd_paper",),
    ),
    Claim(
        "Experiment 2",
        THE_SAME,
        f"`idbpd`: violation at most {FEASIBLE:g} at some iterate",
        _feasible("idbpd"),
        ("idbpd",),
    ),
    Claim(
        "Experiment 2",
        "GDMA with small rho achieves low stationarity, but fails to reduce infeasibility",
        f"rho = 1, at the end: stationarity (lambda = rho) at most {CONVERGED:g}, violation above {FEASIBLE:g}",
        _low_stationarity_but_infeasible,
        ("gdma_rho1",),
    ),
    Claim(
        "Experiment 2",
        "GDMA with large rho is unstable",
        f"rho = 10: stationarity rises {UNSTABLE:g}-fold above what it had reached, in the second half",
        _unstable,
        ("gdma_rho10",),
    ),
    Claim(
        "Appendix",
        "GDMA requires large weights to approach feasibility",
        "least violation for rho = 1, 2, 5, 10: that of 10 is lower than that of 1",
        _needs_large_weights,
        GDMA,
    ),
    Claim(
        "Appendix",
        "iDB-PD outperforms all variants of GDMA and discretization",
        "`idbpd_paper`: lowest worst residual, best multiplier for all",
        _outperforms("idbpd_paper"),
        _ALL,
    ),
    Claim(
        "Appendix",
        THE_SAME,
        "`idbpd`: lowest worst residual, best multiplier for all",
        _outperforms("idbpd"),
        _ALL,
    ),
    Claim(
        "Appendix",
        "iDB-PD has competitive objective values",
        f"`idbpd_paper`: objective at feasibility within {COMPETITIVE - 1:.0%} of the best of all methods",
        _competitive("idbpd_paper"),
        _ALL,
    ),
    Claim(
        "Appendix",
        THE_SAME,
        f"`idbpd`: objective at feasibility within {COMPETITIVE - 1:.0%} of the best of all methods",
        _competitive("idbpd"),
        _ALL,
    ),
)
