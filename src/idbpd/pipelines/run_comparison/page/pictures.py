"""A task in all runs: what was measured, what it is at most, and the limit."""

import math
from collections.abc import Sequence

from idbpd.experiment.page.interval_chart import Bar, interval_chart
from idbpd.experiment.page.judged_limit import Limit, css_of, limit_of
from idbpd.experiment.page.markup import Markup, element, figure, joined, name
from idbpd.experiment.shown import name_of
from idbpd.mtl.chance import WORST_CASE
from idbpd.pipelines.run_comparison.marks import Marked
from idbpd.pipelines.run_comparison.words import less_is_better


def picture(runs: Sequence[Marked], task: str, best: set[str]) -> Markup:
    """The picture of one task."""
    having = [run for run in runs if task in run.run.kinds]
    limits = {run.mark: limit_of(run.run.certificate, task, run.run.value(task, WORST_CASE)) for run in having}
    known = [limit for limit in limits.values() if limit is not None]
    measures = {limit.measure for limit in known}
    measure = measures.pop() if len(measures) == 1 else WORST_CASE
    shared = _shared(known) if len(known) == len(having) else None
    bars = [_bar(run, task, measure, limits[run.mark], shared is None, run.mark in best) for run in having]
    first = [run.mark for run in having if run.run.priority == task]
    badge = element("span", "has priority" if len(first) == len(having) else f"has priority in {', '.join(first)}",
                    class_="badge first") if first else ""  # fmt: skip
    return figure(
        joined([name(task), " ", badge]),
        interval_chart(bars, measure, shared, task),
        _caption(having, task, measure, known, shared),
        "chart interval",
    )


def _shared(limits: Sequence[Limit]) -> Limit | None:
    """The limit, if it is the same in all runs."""
    if len({(limit.measure, f"{limit.limit:.6g}") for limit in limits}) != 1:
        return None
    first = limits[0]
    return Limit(first.measure, first.limit, None, None, "", None, None, None)


def _bar(run: Marked, task: str, measure: str, limit: Limit | None, own_limit: bool, is_best: bool) -> Bar:
    if limit is not None and limit.measure == measure:
        value = math.nan if limit.value is None else limit.value
        kind = css_of(limit.verdict)
        return Bar(run.title, value, limit.bound, kind, is_best, limit.limit if own_limit else None)
    found = run.run.value(task, measure)
    standing = None if run.run.standing is None else run.run.standing["tasks"].get(task)
    bound = standing["upper_bound"] if standing is not None and measure == WORST_CASE else None
    return Bar(run.title, math.nan if found is None else found, bound, "first", is_best)


def _caption(runs: Sequence[Marked], task: str, measure: str, limits: Sequence[Limit], shared: Limit | None) -> str:
    units = {run.run.unit(task) for run in runs}
    unit = f" in {units.pop()}" if len(units) == 1 and measure.endswith("_loss") and units != {""} else ""
    better = "less" if less_is_better(measure) else "more"
    own = " The dashed line of a row is its own limit." if limits and shared is None else ""
    return f"{name_of(measure)}{unit}; {better} is better. A bar ends at the bound.{own}"
