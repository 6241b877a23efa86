"""Which run is best, among those that can be compared, and whether the difference is more than chance.

Runs can be compared if they put the same task first and were judged on the same samples. A run that keeps its limits
comes before one that does not; then the priority task decides: its worst-case loss where the runs mean the same by it,
and else the first measure that people ask for. The best run is compared with all others at once, so each comparison
has to be surer (Bonferroni).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from scipy.special import stdtrit

from idbpd.experiment.page.judged_limit import NOT_CHECKED, verdict_of
from idbpd.experiment.shown import written
from idbpd.mtl import HEADLINE, is_better
from idbpd.mtl.bounds import Verdict
from idbpd.mtl.chance import BLOCKS, WORST_CASE, is_surely_better
from idbpd.pipelines.run_comparison.marks import Marked

CONFIDENCE = 0.95
# The order of verdicts; what was not checked may be anything.
ORDER: dict[str, int] = {Verdict.HOLDS: 0, Verdict.NOT_SHOWN: 1, NOT_CHECKED: 1, Verdict.BROKEN: 2}
SURE, CHANCE, UNKNOWN, EQUAL, LIMITS = "beyond chance", "within chance", "not known", "equal", "limits"


class Against(NamedTuple):
    """The best run next to another one."""

    other: Marked
    value: float | None
    verdict: str


class Ranking(NamedTuple):
    """Runs that can be compared with each other, the best first."""

    runs: list[Marked]
    measure: str
    others: list[Against]  # in the order of the runs, without the best one

    @property
    def best(self) -> Marked:
        """The best of them, or the only one."""
        return self.runs[0]

    @property
    def task(self) -> str:
        """The task that decides."""
        return self.best.run.priority

    @property
    def value(self) -> float | None:
        """The measure of the best one."""
        return self.best.run.value(self.task, self.measure)

    @property
    def is_sure(self) -> bool:
        """Whether the best one is better than every other one by more than chance, or keeps limits that they break."""
        return all(against.verdict in (SURE, LIMITS) for against in self.others)


def rank(runs: Sequence[Marked]) -> list[Ranking]:
    """One ranking for all runs that can be compared with each other; several if not all can, the largest first."""
    known = {_split(run): samples for run in runs if (samples := _samples(run)) is not None}
    groups: dict[Any, list[Marked]] = {}
    for run in runs:
        # A run from before standings were tracked: the same data, rows and features as another one, or its own.
        samples = _samples(run) or known.get(_split(run)) or _split(run)
        task = run.run.priority
        groups.setdefault((task, run.run.kinds[task], run.run.part, samples), []).append(run)
    return sorted((_ranked(group) for group in groups.values()), key=lambda ranking: -len(ranking.runs))


def limits_differ(runs: Sequence[Marked]) -> list[str]:
    """The tasks whose limits on the part that counts are not the same in all runs, or not there in some."""
    names = dict.fromkeys(task for run in runs for task in run.run.certificate["tasks"])
    return [task for task in names if len({_limit(run, task) for run in runs}) > 1]


def _limit(run: Marked, task: str) -> tuple[str, str] | None:
    held_out = run.run.certificate["held_out"]
    if task not in run.run.certificate["tasks"]:
        return None
    if held_out is None:
        return WORST_CASE, f"{run.run.certificate['tasks'][task]['threshold']:.3g}"
    record = held_out["tasks"][task]
    measured = record["measured"]
    # Relative limits are the same promise if the share is, though what the model alone reaches has other last digits.
    if measured is None and record.get("alone") is not None:
        return "slack", f"{record['slack']:.3g}"
    return (measured["name"], f"{measured['limit']:.3g}") if measured else (WORST_CASE, f"{record['reference']:.3g}")


def _samples(run: Marked) -> str | None:
    """Which samples the priority task was judged on; None where it was not tracked."""
    standing = run.run.standing
    return None if standing is None else str(standing["tasks"][run.run.priority]["samples_sha256"])


def _split(run: Marked) -> str:
    return run.run.origin.get("data and split (SHA-256)", run.run.run_id)


def _ranked(group: list[Marked]) -> Ranking:
    task = group[0].run.priority
    if any(run.run.standing is None for run in group):  # the words about the training part, which it has, too
        criteria = {str(run.run.certificate["protects"].get(task)) for run in group}
    else:
        criteria = {_standing(run, task)["criterion"] for run in group}
    measure = WORST_CASE if len(criteria) == 1 else HEADLINE[group[0].run.kinds[task]][0]  # type: ignore[index]

    def value(run: Marked) -> float:
        found = run.run.value(task, measure)
        worst = float("inf") if is_better(measure, 0.0, 1.0) else float("-inf")
        return worst if found is None or math.isnan(found) else found

    sign = 1 if is_better(measure, 0.0, 1.0) else -1
    ordered = sorted(group, key=lambda run: (ORDER.get(verdict_of(run.run.certificate), 1), sign * value(run)))
    sure = float(stdtrit(BLOCKS - 1, 1 - (1 - CONFIDENCE) / max(len(group) - 1, 1)))
    best, *rest = ordered
    return Ranking(ordered, measure, [_against(best, other, task, measure, sure) for other in rest])


def _against(best: Marked, other: Marked, task: str, measure: str, sure: float) -> Against:
    value, theirs = best.run.value(task, measure), other.run.value(task, measure)
    own, its = (ORDER.get(verdict_of(run.run.certificate), 1) for run in (best, other))
    if value is None or theirs is None:
        return Against(other, theirs, UNKNOWN)
    if own < its and not is_better(measure, value, theirs):
        return Against(other, theirs, LIMITS)
    if written(measure, value) == written(measure, theirs):
        return Against(other, theirs, EQUAL)
    spreads = [_standing(run, task).get("spreads", {}) for run in (best, other)]
    if any(measure not in spread for spread in spreads):
        return Against(other, theirs, UNKNOWN)
    is_sure = is_surely_better(measure, value, theirs, *spreads, sure=sure)
    return Against(other, theirs, SURE if is_sure else CHANCE)


def _standing(run: Marked, task: str) -> dict[str, Any]:
    standing = run.run.standing
    return {} if standing is None else dict(standing["tasks"][task])
